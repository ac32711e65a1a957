//! How a union picks a variant: ordered guards, each leading to one variant.
//!
//! Objects are open, so most documents are valid against several variants of a union. The first guard that holds
//! decides, and the union accepts what that variant accepts. It therefore never accepts what `anyOf` rejects.

pub use mcpgen_schema::guard::{Condition, Guard};

/// How a union picks a variant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The guards, in order. The first that holds decides.
    pub guards: Vec<Guard>,
    /// Variants contained in another one, as (contained, containing).
    pub absorbed: Vec<(usize, usize)>,
    /// Whether some document may match two variants, so that the decision can reject what `anyOf` accepts.
    pub overlapping: bool,
}
