//! The metaschemas, for references such as `http://json-schema.org/draft-07/schema#`. The copies have only what
//! affects which values are accepted, in keywords that mean the same in all dialects.

use crate::dialect::Dialect;

/// A schema that accepts the schemas of a dialect.
pub(crate) struct Metaschema {
    pub dialect: Dialect,
    pub json: &'static str,
}

impl Metaschema {
    pub(crate) fn of_uri(uri: &str) -> Option<Metaschema> {
        let dialect = Dialect::of_uri(uri)?;
        let json = match dialect {
            Dialect::Draft04 => include_str!("../metaschemas/draft-04.json"),
            Dialect::Draft06 => include_str!("../metaschemas/draft-06.json"),
            Dialect::Draft07 => include_str!("../metaschemas/draft-07.json"),
            Dialect::Draft201909 => include_str!("../metaschemas/2019-09.json"),
            Dialect::Draft202012 => include_str!("../metaschemas/2020-12.json"),
        };
        Some(Metaschema { dialect, json })
    }

    /// Returns the name of the `$dynamicAnchor` with which other schemas can change what this one refers to.
    pub(crate) fn dynamic_anchor(&self) -> Option<&'static str> {
        match self.dialect {
            Dialect::Draft201909 => Some(""),
            Dialect::Draft202012 => Some("meta"),
            _ => None,
        }
    }
}
