//! The standard's metaschemas, for references such as `http://json-schema.org/draft-07/schema#`. These copies keep only
//! assertions, in keywords that mean the same in every dialect.

use crate::dialect::Dialect;

/// The schema that describes schemas of one dialect.
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

    /// Returns the dynamic anchor through which other schemas can change what the metaschema refers to.
    pub(crate) fn dynamic_anchor(&self) -> Option<&'static str> {
        match self.dialect {
            Dialect::Draft201909 => Some(""),
            Dialect::Draft202012 => Some("meta"),
            _ => None,
        }
    }
}
