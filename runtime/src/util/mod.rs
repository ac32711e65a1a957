//! Small additions to the standard library.

pub(crate) mod lock;
pub(crate) mod random;
pub(crate) mod time;
