//! Forms from servers, which a client fills in field by field by asking the user.

use std::fmt;
use std::future::Future;

use mcpgen_types::v2026_07_28::{ElicitRequestFormParams, ElicitResult, ElicitResultAction};
use mcpgen_types::{JsonObject, Value};

use crate::protocol::form::{FormError, check_field, check_form};

/// A form from a server, and the answers so far.
///
/// ```
/// use mcpgen_sdk::client::Form;
/// use mcpgen_sdk::types::ElicitRequestFormParams;
/// use serde_json::json;
///
/// # let params: ElicitRequestFormParams = mcpgen_types::from_value(json!({
/// #     "message": "Which size?",
/// #     "requestedSchema": {
/// #         "type": "object",
/// #         "required": ["size"],
/// #         "properties": {
/// #             "size": { "type": "string", "oneOf": [{ "const": "s", "title": "Small" }, { "const": "l", "title": "Large" }] },
/// #             "count": { "type": "integer", "minimum": 1, "default": 1 },
/// #         },
/// #     },
/// # }))?;
/// let mut form = Form::new(&params);
/// for field in form.fields() {
///     println!("{} ({})", field.title, field.kind);
/// }
/// assert_eq!(form.set("count", "none").unwrap_err().to_string(), "count: expected integer, found string");
/// form.set("size", "Large")?;
/// // An empty text leaves a field at its default.
/// form.set("count", "")?;
/// assert_eq!(mcpgen_types::to_value(&form.accept()?)?["content"], json!({ "size": "l", "count": 1 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Form {
    params: ElicitRequestFormParams,
    fields: Vec<Field>,
    answers: JsonObject,
}

/// A field of a [`Form`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Field {
    /// The name, which identifies the field.
    pub name: String,
    /// The label for users: the title or, failing that, the name.
    pub title: String,
    /// The help text.
    pub description: Option<String>,
    /// Whether the user must answer.
    pub is_required: bool,
    /// What the user can enter.
    pub kind: FieldKind,
    /// The value if the user enters nothing.
    pub default: Option<Value>,
    schema: Value,
}

/// What a user can enter in a [`Field`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldKind {
    /// Text.
    Text,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// Yes or no.
    Boolean,
    /// One of these options.
    One(Vec<FieldOption>),
    /// Any of these options.
    Several(Vec<FieldOption>),
}

/// An option of a [`Field`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldOption {
    /// The value that is sent to the server.
    pub value: String,
    /// The label for users.
    pub title: String,
}

impl Form {
    /// Reads a form.
    #[must_use]
    pub fn new(params: &ElicitRequestFormParams) -> Self {
        let schema = &params.requested_schema;
        let is_required = |name: &str| schema.required.iter().flatten().any(|required| required == name);
        let fields = schema.properties.iter().map(|(name, field)| {
            Field::new(name, is_required(name), mcpgen_types::to_value(field).unwrap_or_default())
        });
        Self { params: params.clone(), fields: fields.collect(), answers: JsonObject::new() }
    }

    /// Returns the question.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.params.message
    }

    /// Returns the fields, in the order of the form.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Sets a field to what the user has entered: text, a number, `yes` or `no`, the value or title of an option, or
    /// several options separated by commas. Empty text selects the default.
    ///
    /// # Errors
    ///
    /// The error tells the user what the field expects.
    pub fn set(&mut self, name: &str, entered: &str) -> Result<(), FormError> {
        let field = self.fields.iter().find(|field| field.name == name);
        let field = field.ok_or_else(|| FormError::new(name, "the form has no such field"))?;
        let value = match (entered, &field.default) {
            ("", Some(default)) => default.clone(),
            ("", None) if !field.is_required => {
                self.answers.remove(name);
                return Ok(());
            }
            ("", None) => return Err(FormError::new(name, "expected a value")),
            (entered, _) => field.value(entered),
        };
        check_field(&field.schema, &value).map_err(|why| FormError::new(name, why))?;
        self.answers.insert(name, value);
        Ok(())
    }

    /// Asks the user for each field until the input is valid. `ask` gets the field and the problem with the previous
    /// input, if any, and returns the new input, or `None` to cancel the form.
    pub async fn fill<F, Fut>(mut self, mut ask: F) -> ElicitResult
    where
        F: FnMut(Field, Option<String>) -> Fut,
        Fut: Future<Output = Option<String>>,
    {
        for field in self.fields.clone() {
            let mut problem = None;
            loop {
                let Some(entered) = ask(field.clone(), problem).await else { return self.cancel() };
                problem = match self.set(&field.name, &entered) {
                    Ok(()) => break,
                    Err(error) => Some(error.reason),
                };
            }
        }
        self.accept().unwrap_or_else(|_| ElicitResult::new(ElicitResultAction::Cancel))
    }

    /// Returns the answers of a user who accepted the form.
    ///
    /// # Errors
    ///
    /// Fails, with the name of the field, if a required field has no value.
    pub fn accept(self) -> Result<ElicitResult, FormError> {
        let result = JsonObject::from([("action", "accept".into()), ("content", self.answers.into())]);
        let invalid = |error: mcpgen_types::Error| FormError::new(&error.path(), error.to_string());
        let result: ElicitResult = result.decode().map_err(invalid)?;
        check_form(&self.params, &result)?;
        Ok(result)
    }

    /// Returns the answer of a user who refuses the form.
    #[must_use]
    pub fn decline(self) -> ElicitResult {
        ElicitResult::new(ElicitResultAction::Decline)
    }

    /// Returns the answer of a user who dismissed the form.
    #[must_use]
    pub fn cancel(self) -> ElicitResult {
        ElicitResult::new(ElicitResultAction::Cancel)
    }
}

impl Field {
    fn new(name: &str, is_required: bool, schema: Value) -> Self {
        let text = |member: &str| schema.get(member).and_then(Value::as_str).map(str::to_owned);
        Self {
            name: name.to_owned(),
            title: text("title").unwrap_or_else(|| name.to_owned()),
            description: text("description"),
            is_required,
            kind: FieldKind::of(&schema),
            default: schema.get("default").cloned(),
            schema,
        }
    }

    /// Converts what the user has entered. Input of another kind stays text, which the schema check then rejects.
    fn value(&self, entered: &str) -> Value {
        match &self.kind {
            FieldKind::Text => entered.into(),
            FieldKind::Number | FieldKind::Integer => entered.trim().parse().map_or(entered.into(), Value::Number),
            FieldKind::Boolean => match entered.trim().to_lowercase().as_str() {
                "yes" | "y" | "true" => true.into(),
                "no" | "n" | "false" => false.into(),
                _ => entered.into(),
            },
            FieldKind::One(options) => chosen(options, entered).into(),
            FieldKind::Several(options) => several(options, entered).into_iter().map(Value::from).collect(),
        }
    }
}

/// Finds the option by value or title.
fn chosen<'o>(options: &'o [FieldOption], entered: &'o str) -> &'o str {
    let entered = entered.trim();
    let by_value = options.iter().find(|option| option.value == entered);
    let chosen =
        by_value.or_else(|| options.iter().find(|option| option.title.to_lowercase() == entered.to_lowercase()));
    chosen.map_or(entered, |option| &option.value)
}

/// Splits a list of options at commas. An option may contain commas, too.
fn several<'o>(options: &'o [FieldOption], entered: &'o str) -> Vec<&'o str> {
    let (mut values, mut rest) = (Vec::new(), Some(entered.trim()));
    while let Some(text) = rest {
        let ends = text.match_indices(',').map(|(end, _)| end).chain([text.len()]);
        let mut known = ends.filter(|end| {
            let text = text[..*end].trim();
            options.iter().any(|it| it.value == text || it.title.to_lowercase() == text.to_lowercase())
        });
        let end = known.next_back().or_else(|| text.find(',')).unwrap_or(text.len());
        values.push(chosen(options, &text[..end]));
        rest = text[end..].strip_prefix(',').map(str::trim_start);
    }
    values
}

impl FieldKind {
    fn of(schema: &Value) -> Self {
        match schema.get("type").and_then(Value::as_str) {
            Some("number") => Self::Number,
            Some("integer") => Self::Integer,
            Some("boolean") => Self::Boolean,
            Some("array") => Self::Several(schema.get("items").and_then(options).unwrap_or_default()),
            _ => options(schema).map_or(Self::Text, Self::One),
        }
    }
}

/// Formats what the user can enter, such as `number` or `one of Small, Large`.
impl fmt::Display for FieldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let titles =
            |options: &[FieldOption]| options.iter().map(|option| &*option.title).collect::<Vec<_>>().join(", ");
        match self {
            Self::Text => f.write_str("text"),
            Self::Number => f.write_str("number"),
            Self::Integer => f.write_str("whole number"),
            Self::Boolean => f.write_str("yes or no"),
            Self::One(options) => write!(f, "one of {}", titles(options)),
            Self::Several(options) => write!(f, "any of {}", titles(options)),
        }
    }
}

/// Returns the options of a field or its items, or `None` if any text is allowed.
fn options(schema: &Value) -> Option<Vec<FieldOption>> {
    let list = |member: &str| schema.get(member).and_then(Value::as_array);
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    if let Some(values) = list("enum") {
        let titles = list("enumNames");
        let option = |(index, value): (usize, &Value)| {
            let value = text(Some(value))?;
            let title = text(titles.and_then(|titles| titles.get(index))).unwrap_or_else(|| value.clone());
            Some(FieldOption { value, title })
        };
        return Some(values.iter().enumerate().filter_map(option).collect());
    }
    let titled = list("oneOf").or(list("anyOf"))?;
    let option = |option: &Value| {
        let value = text(option.get("const"))?;
        Some(FieldOption { title: text(option.get("title")).unwrap_or_else(|| value.clone()), value })
    };
    Some(titled.iter().filter_map(option).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Fills in a form with one field. Expects the value, or the message that the user gets.
    #[track_caller]
    fn check(field: Value, entered: &str, expected: Result<Value, &str>) {
        let schema = json!({ "type": "object", "properties": { "x": field }, "required": ["x"] });
        let params = mcpgen_types::from_value(json!({ "message": "?", "requestedSchema": schema })).expect("a form");
        let mut form = Form::new(&params);
        let filled = form.set("x", entered).and_then(|()| form.accept());
        let value = filled.map(|result| mcpgen_types::to_value(&result).expect("JSON")["content"]["x"].clone());
        assert_eq!(value.map_err(|error| error.reason), expected.map_err(str::to_owned), "{field} {entered:?}");
    }

    #[test]
    fn converts_what_users_enter() {
        let text = json!({ "type": "string", "minLength": 2 });
        check(text.clone(), "ab", Ok(json!("ab")));
        check(text.clone(), "a", Err("expected at least 2 characters, found 1"));
        check(text, "", Err("expected a value"));
        let number = json!({ "type": "number", "maximum": 9 });
        check(number.clone(), " 1.5 ", Ok(json!(1.5)));
        check(number.clone(), "10", Err("expected at most 9, found 10"));
        check(number, "many", Err("expected number, found string"));
        check(json!({ "type": "integer", "default": 3 }), "", Ok(json!(3)));
        check(json!({ "type": "integer" }), "1.5", Err("expected integer, found number"));
        let boolean = json!({ "type": "boolean" });
        for (entered, expected) in [("Yes", true), ("y", true), ("true", true), ("no", false), ("FALSE", false)] {
            check(boolean.clone(), entered, Ok(json!(expected)));
        }
        check(boolean, "maybe", Err("expected boolean, found string"));
        let sizes = json!([{ "const": "s", "title": "Small" }, { "const": "l", "title": "Large" }]);
        let one = json!({ "type": "string", "oneOf": sizes });
        check(one.clone(), "s", Ok(json!("s")));
        check(one.clone(), "large", Ok(json!("l")));
        check(one, "medium", Err(r#"expected one of "s", "l""#));
        check(json!({ "type": "string", "enum": ["a"], "enumNames": ["First"] }), "first", Ok(json!("a")));
        let several = json!({ "type": "array", "maxItems": 2, "items": { "anyOf": sizes } });
        check(several.clone(), "Small, l", Ok(json!(["s", "l"])));
        check(several, "s,l,s", Err("expected at most 2 items, found 3"));
        let options = json!([{ "const": "a,b", "title": "A, or B" }, { "const": "a", "title": "A" }]);
        let several = json!({ "type": "array", "items": { "anyOf": options } });
        check(several.clone(), "A, a, or b", Ok(json!(["a", "a,b"])));
        check(several.clone(), "a,b", Ok(json!(["a,b"])));
        check(several, "a, c", Err(r#"expected one of "a,b", "a""#));
    }
}
