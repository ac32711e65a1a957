//! Conversions between revisions, as data. `rules` reads the hand-written rules, `nodes` flattens the types of all
//! revisions into one graph, and `classes` merges equal types.

mod classes;
mod nodes;
mod rules;

pub use classes::{Conversions, RustType, conversions};
pub use nodes::{MemberNode, Node, ObjectNode, Others};
pub use rules::{Action, OtherValues, PATH, Rules};
