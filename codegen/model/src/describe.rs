//! Type expressions in words.

use crate::protocol::Protocol;
use crate::types::Type;

impl Protocol {
    /// Describes a type expression: `list of Tool`, `string or null`.
    pub fn describe(&self, content: &Type) -> String {
        match content {
            Type::Any => "any JSON value".to_owned(),
            Type::Never => "nothing".to_owned(),
            Type::Null => "null".to_owned(),
            Type::Boolean => "boolean".to_owned(),
            Type::String => "string".to_owned(),
            Type::Signed => "integer".to_owned(),
            Type::Unsigned => "integer of at least 0".to_owned(),
            Type::Number => "number".to_owned(),
            Type::Object => "any object".to_owned(),
            Type::List(inner) => format!("list of {}", self.describe_inner(inner)),
            Type::Map(inner) => format!("map to {}", self.describe_inner(inner)),
            Type::Nullable(inner) => format!("{} or null", self.describe(inner)),
            Type::Named(id) => self.types[*id].name.clone(),
        }
    }

    fn describe_inner(&self, content: &Type) -> String {
        let words = self.describe(content);
        if matches!(content, Type::Nullable(_)) { format!("({words})") } else { words }
    }
}
