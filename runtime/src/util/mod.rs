//! What the standard library lacks.

pub(crate) mod lock;
pub(crate) mod random;
pub(crate) mod time;
