//! Why a schema is rejected.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SchemaError {
    #[error("{0}")]
    Invalid(String),
    #[error("the reference {0:?} does not refer to a part of the schema")]
    Unresolved(String),
    #[error("{0} is not supported")]
    Unsupported(String),
    #[error("{0}: patterns must compile to at most {1} KiB")]
    Pattern(String, usize),
    #[error("more than {0} subschemas")]
    TooManySubschemas(usize),
    #[error("more than {0} patterns")]
    TooManyPatterns(usize),
    #[error("more than {0} subschemas apply to one value, with references expanded")]
    TooLarge(u64),
    #[error("`unevaluatedProperties` and `unevaluatedItems` inspect more than {0} subschemas")]
    TooManyUnevaluated(u64),
    #[error("a reference loop, or more than {0} nested subschemas that apply to one value")]
    TooNested(usize),
}
