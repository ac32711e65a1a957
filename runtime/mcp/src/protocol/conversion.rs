//! Converts params and results between the connection's revision and that of this crate's types.
//!
//! The tables of `mcpgen_types::convert` say how; no code here depends on a particular revision.

use mcpgen_types::codec::Encode;
use mcpgen_types::convert::{self, Conversion, ConvertError, Converted, Convertible, Lost, Policy};
use mcpgen_types::{Error, ErrorCode, ErrorObject, Json, Revision};

/// A revision cannot express params or a result.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConversionError {
    /// The revision does not have the method.
    #[error("revision {revision} does not support `{method}`")]
    Method {
        /// The method.
        method: String,
        /// The revision.
        revision: Revision,
    },
    /// The revision cannot express a value.
    #[error("{part} of `{method}`: {error}")]
    Value {
        /// The method.
        method: String,
        /// The part of the message: `params` or `result`.
        part: &'static str,
        /// The error, with the path of the value.
        error: Box<ConvertError>,
    },
}

impl ConversionError {
    /// Returns the error response for a request that could not be converted.
    #[cold]
    #[must_use]
    pub fn into_response(self) -> ErrorObject {
        let code = match &self {
            Self::Method { .. } => ErrorCode::METHOD_NOT_FOUND,
            Self::Value { part: "params", .. } => ErrorCode::INVALID_PARAMS,
            Self::Value { .. } => ErrorCode::INTERNAL_ERROR,
        };
        ErrorObject::new(code, self.to_string())
    }
}

/// The direction of a conversion.
#[derive(Clone, Copy, Debug)]
pub struct Revisions {
    /// The revision of the value.
    pub from: Revision,
    /// The revision to convert to.
    pub to: Revision,
}

impl Revisions {
    /// Returns the conversion in the other direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { from: self.to, to: self.from }
    }

    /// Converts the params of a request or notification. Members that the target revision lacks are left out.
    ///
    /// # Errors
    ///
    /// Fails if the target revision lacks the method, or if it cannot express a value that must not be left out.
    pub fn params<T: Encode>(self, method: &str, params: &T) -> Result<Json, ConversionError> {
        self.apply(method, "params", params, || Conversion::of_params(method, self.from, self.to))
    }

    /// Converts the result of a request. Members that the target revision lacks are left out.
    ///
    /// # Errors
    ///
    /// Fails like [`params`](Self::params).
    pub fn result<T: Encode>(self, method: &str, result: &T) -> Result<Json, ConversionError> {
        self.apply(method, "result", result, || Conversion::of_result(method, self.from, self.to))
    }

    /// Checks a result of the source revision. Conversions accept some invalid results, such as an array where only the
    /// target allows any value.
    ///
    /// # Errors
    ///
    /// Fails if the result is not valid. The error names the method and the revision.
    pub fn check_result(self, method: &str, result: &Json) -> Result<(), Error> {
        let named = |error: Error| error.with_type_name(format!("{method} result of revision {}", self.from));
        convert::check_result(method, self.from, result).map_err(named)
    }

    /// Like [`result`](Self::result), but converts the type `T`, not the method's result type (which may be a union).
    ///
    /// # Errors
    ///
    /// Fails like [`params`](Self::params).
    pub fn typed_result<T: Convertible>(self, method: &str, result: &T) -> Result<Json, ConversionError> {
        self.apply(method, "result", result, || Conversion::of_type::<T>(self.to))
    }

    #[inline]
    fn apply<T: Encode>(
        self,
        method: &str,
        part: &'static str,
        value: &T,
        conversion: impl FnOnce() -> Option<Conversion>,
    ) -> Result<Json, ConversionError> {
        match self.from == self.to {
            true => Ok(Json::from(value)),
            false => self.convert(method, part, value, conversion()),
        }
    }

    // A single function for all types keeps the code small.
    fn convert(
        self,
        method: &str,
        part: &'static str,
        value: &dyn Encode,
        conversion: Option<Conversion>,
    ) -> Result<Json, ConversionError> {
        let Some(conversion) = conversion else {
            return match (self.from.method(method), self.to.method(method)) {
                (Some(_), None) => Err(ConversionError::Method { method: method.to_owned(), revision: self.to }),
                // Custom methods look the same in every revision.
                _ => Ok(Json::from(value)),
            };
        };
        match conversion.apply(value, Policy::Omit) {
            Ok(Converted { value, lost, .. }) => {
                if !lost.is_empty() {
                    self.log_lost(method, part, &lost);
                }
                Ok(value)
            }
            Err(error) => Err(self.refusal(method, part, error)),
        }
    }

    #[cold]
    fn log_lost(self, method: &str, part: &'static str, lost: &[Lost]) {
        let Self { from, to } = self;
        for lost in lost {
            tracing::debug!(method, part, %from, %to, %lost, "left out what the revision does not support");
        }
    }

    #[cold]
    fn refusal(self, method: &str, part: &'static str, error: ConvertError) -> ConversionError {
        let Self { from, to } = self;
        tracing::warn!(method, part, %from, %to, %error, "the revision does not support a value");
        ConversionError::Value { method: method.to_owned(), part, error: Box::new(error) }
    }
}
