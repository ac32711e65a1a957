#![doc = include_str!("../../docs/conversions.md")]

mod check;
mod outcome;
mod path;
pub(crate) mod shape;
mod source;
mod walk;

use crate::codec::{Decode, Encode};
use crate::{Error, Json, Revision};

pub use check::check_result;
pub use outcome::{ConvertError, ConvertErrorKind, Converted, Lost, LostReason, Policy};
pub use shape::TypeId;
use walk::Walk;

/// A generated type that [`convert`] can convert to other revisions. Implemented for the types of all compiled
/// revisions, except aliases.
pub trait Convertible: Decode + Encode {
    /// The revision of the type.
    const REVISION: Revision;
    /// Identifies the type across revisions: two types share a number if they define the same members and accept the
    /// same values.
    const TYPE: TypeId;
    /// The definition's row in the table of definitions.
    #[doc(hidden)]
    const DEFINITION: usize;
}

/// Converts a value to a type of another revision. Optional members that the target does not define are dropped, and
/// listed in [`Converted::lost`].
///
/// # Errors
///
/// Returns an error if the target cannot express something that may not be dropped, or requires a member that the value
/// does not have.
pub fn convert<A: Convertible, B: Convertible>(value: &A) -> Result<Converted<B>, ConvertError> {
    convert_with(value, Policy::default())
}

/// Like [`convert`], with a policy for what the target cannot express.
///
/// # Errors
///
/// Returns the errors of [`convert`], and with [`Policy::Strict`] also an error if a member would be lost.
pub fn convert_with<A: Convertible, B: Convertible>(value: &A, policy: Policy) -> Result<Converted<B>, ConvertError> {
    let Converted { value: json, lost } = Conversion::between::<A, B>().apply(value, policy)?;
    match json.decode() {
        Ok(value) => Ok(Converted { value, lost }),
        Err(error) => Err(ConvertError::decoding(&error, B::REVISION)),
    }
}

/// Converts a value between two revisions whose types accept the same values. Any other pair of types does not compile.
///
/// ```
/// use mcpgen_types::convert::convert_equal;
/// # #[cfg(all(feature = "v2024_11_05", feature = "v2026_07_28"))] {
/// use mcpgen_types::{v2024_11_05, v2026_07_28};
///
/// let role: v2026_07_28::Role = convert_equal(&v2024_11_05::Role::User)?;
/// assert_eq!(role, v2026_07_28::Role::User);
/// # }
/// # Ok::<(), mcpgen_types::Error>(())
/// ```
///
/// This does not compile, because the conversion may lose members:
///
/// ```compile_fail
/// use mcpgen_types::convert::convert_equal;
/// use mcpgen_types::{Error, v2025_06_18, v2026_07_28};
///
/// fn old(tool: &v2026_07_28::Tool) -> Result<v2025_06_18::Tool, Error> {
///     convert_equal(tool)
/// }
/// # let tool = mcpgen_types::from_str(r#"{"name":"add","inputSchema":{"type":"object"}}"#)?;
/// # old(&tool)?;
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
///
/// Returns an error if the value is nested more than [`MAX_DEPTH`](crate::codec::MAX_DEPTH) levels deep, or contains a
/// number or text that is not JSON. This never happens with decoded values.
pub fn convert_equal<A: Convertible, B: Convertible>(value: &A) -> Result<B, Error> {
    const { assert!(A::TYPE == B::TYPE, "the conversion may fail or lose members: use `convert`") };
    Json::from(value).decode()
}

/// A conversion from a type of one revision to a type of another. Cheap to create and to copy.
///
/// ```
/// use mcpgen_types::convert::{Conversion, Policy};
/// use mcpgen_types::{Json, Revision};
///
/// let conversion = Conversion::of_result("tools/list", Revision::V2026_07_28, Revision::V2025_06_18);
/// let conversion = conversion.ok_or("both revisions have the method")?;
/// let result = r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]}"#;
/// let result = Json::parse(result)?;
/// let converted = conversion.apply(&result, Policy::Strict)?;
/// assert_eq!(converted.value.text(), r#"{"tools":[]}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversion {
    from: TypeId,
    to: TypeId,
    revision: Revision,
}

impl Conversion {
    /// Returns the conversion of a definition or inline type to its counterpart in another revision, or `None` if
    /// either revision does not have it.
    #[must_use]
    pub fn of_definition(name: &str, from: Revision, to: Revision) -> Option<Self> {
        let row = shape::definition(name)?;
        Some(Self { from: shape::type_in(row, from)?, to: shape::counterpart(row, to)?, revision: to })
    }

    /// Returns the conversion of a method's `params`, or `None` if either revision does not have the method.
    #[must_use]
    pub fn of_params(method: &str, from: Revision, to: Revision) -> Option<Self> {
        let [source, target] = shape::method(method, from, to)?;
        Some(Self { from: source.0, to: target.0, revision: to })
    }

    /// Returns the conversion of a request's result, or `None` if either revision does not have the method.
    #[must_use]
    pub fn of_result(method: &str, from: Revision, to: Revision) -> Option<Self> {
        let [source, target] = shape::method(method, from, to)?;
        Some(Self { from: source.1, to: target.1, revision: to })
    }

    /// Returns the conversion of a type to its counterpart in another revision, or `None` if there is none.
    #[must_use]
    pub fn of_type<T: Convertible>(to: Revision) -> Option<Self> {
        Some(Self { from: T::TYPE, to: shape::counterpart(T::DEFINITION, to)?, revision: to })
    }

    /// Returns the conversion between two types.
    #[must_use]
    pub fn between<A: Convertible, B: Convertible>() -> Self {
        Self { from: A::TYPE, to: B::TYPE, revision: B::REVISION }
    }

    /// Returns the target revision.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns whether both types are the same, so that the conversion cannot fail, lose or add anything.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.from == self.to
    }

    /// Converts a value, which must be valid for the source type.
    ///
    /// Assertions that the types cannot express, such as `pattern`, are not checked until the result is decoded.
    ///
    /// # Errors
    ///
    /// Returns an error if the target cannot express something that may not be dropped, or requires a member that the
    /// value does not have.
    pub fn apply<T: Encode + ?Sized>(&self, value: &T, policy: Policy) -> Result<Converted<Json>, ConvertError> {
        Walk::new(policy, self.revision).convert(value.encode(), self.from, self.to)
    }
}

/// Implements [`Convertible`] for the types of a revision.
#[allow(unused_macros, reason = "unused without the types of a revision")]
macro_rules! convertible {
    ($revision:ident $module:ident; $($name:ident $id:literal $row:literal,)*) => {
        $(#[allow(deprecated, reason = "deprecated types convert like others")]
        impl $crate::convert::Convertible for $crate::$module::$name {
            const REVISION: $crate::Revision = $crate::Revision::$revision;
            const TYPE: $crate::convert::TypeId = $id;
            const DEFINITION: usize = $row;
        })*
    };
}

#[allow(unused_imports, reason = "unused without the types of a revision")]
pub(crate) use convertible;
