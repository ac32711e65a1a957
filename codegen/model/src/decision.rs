//! Decisions of unions: ordered guards that lead to one variant each.
//!
//! In most unions of the protocol, a document can be valid against several variants, because objects are open. The
//! first guard that holds decides, and the union accepts what that variant accepts. So it never accepts what `anyOf`
//! rejects.

pub use mcpgen_schema::guard::{Condition, Guard};

/// The decision of a union.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The guards in order. The first that holds decides.
    pub guards: Vec<Guard>,
    /// Variants that another variant contains, as (contained, containing).
    pub absorbed: Vec<(usize, usize)>,
    /// Whether two variants may accept the same document, so that the decision can reject what `anyOf` accepts.
    pub overlapping: bool,
}
