//! Tests the core of the crate with hand-written types in the style of the generated ones.
#![allow(clippy::unwrap_used, unreachable_pub)]

use mcpgen_types::codec::{self, Condition, Document, Guard, JsonTypes, Literal, Place};
use mcpgen_types::{
    Error, ErrorCode, ErrorId, ErrorKind, ErrorObject, Extra, Json, JsonObject, KnownMembers, Message, MethodSet,
    Never, NotificationSet, Number, ProgressToken, Request, RequestId, RequestMessage, RequestSet, ResponseMessage,
    ResultType, TaskRequest, Value, Version,
};
use serde_json::json;

mod types {
    //! Types like those in a generated module.
    use super::*;

    /// The functions of a type that keeps the members it has no field for.
    macro_rules! keeps_others {
        () => {
            fn read_other(
                &mut self,
                name: codec::Cursor<'_>,
                value: codec::Cursor<'_>,
                unread: codec::Unread,
            ) -> codec::Result<()> {
                codec::read_other(&mut self.extra, name, value, unread)
            }
            fn finish_others(&mut self, unread: codec::Unread) {
                self.extra.finish(unread);
            }
        };
    }

    /// An open object.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Tool {
        pub name: String,
        pub title: Option<String>,
        /// Nullable: absent and `null` differ.
        pub parent: Option<Option<String>>,
        pub icons: Option<Vec<Icon>>,
        pub input_schema: InputSchema,
        pub extra: Extra<Tool>,
    }

    impl codec::Decode for Tool {
        const NAME: &'static str = "Tool";
        fn decode(json: codec::Cursor<'_>) -> codec::Result<Self> {
            codec::decode_in_place(json)
        }
    }
    impl codec::DecodeInPlace for Tool {
        fn blank(unread: codec::Unread) -> Self {
            Self {
                name: codec::DecodeInPlace::blank(unread),
                title: None,
                parent: None,
                icons: None,
                input_schema: codec::DecodeInPlace::blank(unread),
                extra: Extra::default(),
            }
        }
        fn read(&mut self, json: codec::Cursor<'_>, unread: codec::Unread) -> codec::Result<()> {
            json.read_object(const { &codec::MemberTable::new(Self::MEMBERS, &[0, 4]) }, &mut &mut *self, unread)
        }
    }
    impl codec::ReadMember for Tool {
        fn read_member(&mut self, index: usize, json: codec::Cursor<'_>, unread: codec::Unread) -> codec::Result<()> {
            match index {
                0 => codec::DecodeInPlace::read(&mut self.name, json, unread),
                1 => codec::read_optional(json, &mut self.title, unread),
                2 => codec::read_optional(json, &mut self.parent, unread),
                3 => codec::read_optional(json, &mut self.icons, unread),
                4 => codec::DecodeInPlace::read(&mut self.input_schema, json, unread),
                _ => Ok(()),
            }
        }
        keeps_others!();
    }
    impl codec::Object for Tool {
        fn members(&self, out: &mut codec::Members<'_>) {
            out.member("name", &self.name);
            out.optional("title", &self.title);
            out.optional("parent", &self.parent);
            out.optional("icons", &self.icons);
            out.member("inputSchema", &self.input_schema);
            out.extra(&self.extra);
        }
    }
    impl codec::Encode for Tool {
        fn encode(&self) -> codec::Node<'_> {
            codec::Node::Object(self)
        }
    }
    impl KnownMembers for Tool {
        const MEMBERS: &'static [&'static str] = &["name", "title", "parent", "icons", "inputSchema"];
    }

    /// An object with a constant.
    #[derive(Clone, Debug, PartialEq)]
    pub struct InputSchema {
        pub extra: Extra<InputSchema>,
    }

    impl codec::Decode for InputSchema {
        const NAME: &'static str = "InputSchema";
        fn decode(json: codec::Cursor<'_>) -> codec::Result<Self> {
            codec::decode_in_place(json)
        }
    }
    impl codec::DecodeInPlace for InputSchema {
        fn blank(_: codec::Unread) -> Self {
            Self { extra: Extra::default() }
        }
        fn read(&mut self, json: codec::Cursor<'_>, unread: codec::Unread) -> codec::Result<()> {
            json.read_object(const { &codec::MemberTable::new(Self::MEMBERS, &[0]) }, &mut &mut *self, unread)
        }
    }
    impl codec::ReadMember for InputSchema {
        fn read_member(&mut self, index: usize, json: codec::Cursor<'_>, _: codec::Unread) -> codec::Result<()> {
            match index {
                0 => json.read_constant(&Literal::Str("object")),
                _ => Ok(()),
            }
        }
        keeps_others!();
    }
    impl KnownMembers for InputSchema {
        const MEMBERS: &'static [&'static str] = &["type"];
    }
    impl codec::Object for InputSchema {
        fn members(&self, out: &mut codec::Members<'_>) {
            out.constant("type", Literal::Str("object"));
            out.extra(&self.extra);
        }
    }
    impl codec::Encode for InputSchema {
        fn encode(&self) -> codec::Node<'_> {
            codec::Node::Object(self)
        }
    }

    /// A closed object.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Icon {
        pub src: String,
        pub width: Option<i64>,
        pub scale: Option<Scale>,
    }

    impl codec::Decode for Icon {
        const NAME: &'static str = "Icon";
        fn decode(json: codec::Cursor<'_>) -> codec::Result<Self> {
            codec::decode_in_place(json)
        }
    }
    impl codec::DecodeInPlace for Icon {
        fn blank(unread: codec::Unread) -> Self {
            Self { src: codec::DecodeInPlace::blank(unread), width: None, scale: None }
        }
        fn read(&mut self, json: codec::Cursor<'_>, unread: codec::Unread) -> codec::Result<()> {
            json.read_object(const { &codec::MemberTable::new(Self::MEMBERS, &[0]) }, &mut &mut *self, unread)
        }
    }
    impl codec::ReadMember for Icon {
        fn read_member(&mut self, index: usize, json: codec::Cursor<'_>, unread: codec::Unread) -> codec::Result<()> {
            match index {
                0 => codec::DecodeInPlace::read(&mut self.src, json, unread),
                1 => codec::read_optional(json, &mut self.width, unread),
                2 => codec::read_optional(json, &mut self.scale, unread),
                _ => Ok(()),
            }
        }
        fn read_other(
            &mut self,
            _: codec::Cursor<'_>,
            value: codec::Cursor<'_>,
            unread: codec::Unread,
        ) -> codec::Result<()> {
            codec::refuse_other(value, unread)
        }
        fn finish_others(&mut self, _: codec::Unread) {}
    }
    impl KnownMembers for Icon {
        const MEMBERS: &'static [&'static str] = &["src", "width", "scale"];
    }
    impl codec::Object for Icon {
        fn members(&self, out: &mut codec::Members<'_>) {
            out.member("src", &self.src);
            out.optional("width", &self.width);
            out.optional("scale", &self.scale);
        }
    }
    impl codec::Encode for Icon {
        fn encode(&self) -> codec::Node<'_> {
            codec::Node::Object(self)
        }
    }

    /// A number with bounds.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Scale(Number);

    impl Scale {
        const BOUNDS: codec::Bounds = codec::Bounds {
            minimum: Some(codec::Bound { value: Literal::Integer(0), exclusive: true }),
            maximum: Some(codec::Bound { value: Literal::Float(1.5), exclusive: false }),
        };
    }

    impl TryFrom<Number> for Scale {
        type Error = Error;
        fn try_from(number: Number) -> Result<Self, Error> {
            Self::BOUNDS.check_number(number)?;
            Ok(Self(number))
        }
    }
    impl codec::Decode for Scale {
        const NAME: &'static str = "Scale";
        fn decode(json: codec::Cursor<'_>) -> codec::Result<Self> {
            let number: Number = codec::Decode::decode(json)?;
            Self::try_from(number).map_err(|error| json.locate(error))
        }
    }
    impl codec::DecodeInPlace for Scale {
        fn blank(unread: codec::Unread) -> Self {
            Self(codec::DecodeInPlace::blank(unread))
        }
        fn read(&mut self, json: codec::Cursor<'_>, _: codec::Unread) -> codec::Result<()> {
            codec::set(self, codec::Decode::decode(json)?);
            Ok(())
        }
    }
    impl codec::Encode for Scale {
        fn encode(&self) -> codec::Node<'_> {
            codec::Encode::encode(&self.0)
        }
    }

    /// A string with length limits.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Short(String);

    impl codec::Decode for Short {
        const NAME: &'static str = "Short";
        fn decode(json: codec::Cursor<'_>) -> codec::Result<Self> {
            let text = json.string()?;
            codec::Length { min: 1, max: Some(3) }.check_str(&text).map_err(|error| json.locate(error))?;
            Ok(Self(text))
        }
    }

    macro_rules! block {
        ($name:ident, $tag:literal, $member:ident) => {
            #[derive(Clone, Debug, PartialEq)]
            pub struct $name {
                pub $member: String,
                pub extra: Extra<$name>,
            }
            impl codec::Decode for $name {
                const NAME: &'static str = stringify!($name);
                fn decode(json: codec::Cursor<'_>) -> codec::Result<Self> {
                    codec::decode_in_place(json)
                }
            }
            impl codec::DecodeInPlace for $name {
                fn blank(unread: codec::Unread) -> Self {
                    Self { $member: codec::DecodeInPlace::blank(unread), extra: Extra::default() }
                }
                fn read(&mut self, json: codec::Cursor<'_>, unread: codec::Unread) -> codec::Result<()> {
                    json.read_object(
                        const { &codec::MemberTable::new(Self::MEMBERS, &[0, 1]) },
                        &mut &mut *self,
                        unread,
                    )
                }
            }
            impl codec::ReadMember for $name {
                fn read_member(
                    &mut self,
                    index: usize,
                    json: codec::Cursor<'_>,
                    unread: codec::Unread,
                ) -> codec::Result<()> {
                    match index {
                        0 => json.read_constant(&Literal::Str($tag)),
                        1 => codec::DecodeInPlace::read(&mut self.$member, json, unread),
                        _ => Ok(()),
                    }
                }
                keeps_others!();
            }
            impl KnownMembers for $name {
                const MEMBERS: &'static [&'static str] = &["type", stringify!($member)];
            }
            impl codec::Object for $name {
                fn members(&self, out: &mut codec::Members<'_>) {
                    out.constant("type", Literal::Str($tag));
                    out.member(stringify!($member), &self.$member);
                    out.extra(&self.extra);
                }
            }
            impl codec::Encode for $name {
                fn encode(&self) -> codec::Node<'_> {
                    codec::Node::Object(self)
                }
            }
        };
    }
    block!(TextContent, "text", text);
    block!(ImageContent, "image", data);

    /// A tagged union.
    #[derive(Clone, Debug, PartialEq)]
    pub enum ContentBlock {
        Text(TextContent),
        Image(ImageContent),
    }

    impl ContentBlock {
        const GUARDS: &'static [Guard] = &[
            Guard { when: &[Condition::Value(&["type"], &[Literal::Str("text")])], variant: 0 },
            Guard { when: &[Condition::Value(&["type"], &[Literal::Str("image")])], variant: 1 },
        ];
    }
    impl codec::Decode for ContentBlock {
        const NAME: &'static str = "ContentBlock";
        fn decode(json: codec::Cursor<'_>) -> codec::Result<Self> {
            codec::decode_in_place(json)
        }
    }
    impl codec::DecodeInPlace for ContentBlock {
        fn blank(unread: codec::Unread) -> Self {
            Self::Image(codec::DecodeInPlace::blank(unread))
        }
        fn read(&mut self, json: codec::Cursor<'_>, unread: codec::Unread) -> codec::Result<()> {
            match json.union(Self::GUARDS)? {
                0 => {
                    codec::set(self, Self::Text(codec::DecodeInPlace::blank(unread)));
                    if let Self::Text(value) = self {
                        codec::DecodeInPlace::read(value, json, unread)?;
                    }
                }
                _ => {
                    codec::set(self, Self::Image(codec::DecodeInPlace::blank(unread)));
                    if let Self::Image(value) = self {
                        codec::DecodeInPlace::read(value, json, unread)?;
                    }
                }
            }
            Ok(())
        }
    }
    impl codec::Encode for ContentBlock {
        fn encode(&self) -> codec::Node<'_> {
            match self {
                Self::Text(member) => member.encode(),
                Self::Image(member) => member.encode(),
            }
        }
    }

    /// A union whose guards check presence, nested presence, elements and types.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Anything {
        Text(Json),
        Multi(Json),
        Single(Json),
        Plain(Json),
        List(Json),
        Name(String),
        Count(i64),
    }

    impl Anything {
        const GUARDS: &'static [Guard] = &[
            Guard { when: &[Condition::Present(&["text"])], variant: 0 },
            Guard { when: &[Condition::Present(&["items", "enum"])], variant: 1 },
            Guard {
                when: &[
                    Condition::Value(&["n"], &[Literal::Integer(1), Literal::Json(r#"{"a":[1]}"#)]),
                    Condition::Absent(&["data"]),
                ],
                variant: 2,
            },
            Guard { when: &[Condition::Value(&["0"], &[Literal::Null])], variant: 5 },
            Guard { when: &[Condition::Type(JsonTypes::STRING)], variant: 6 },
            Guard { when: &[Condition::Type(JsonTypes::INTEGER)], variant: 7 },
            Guard { when: &[Condition::Type(JsonTypes::OBJECT), Condition::Absent(&["never"])], variant: 3 },
        ];
    }
    impl codec::Decode for Anything {
        const NAME: &'static str = "Anything";
        fn decode(json: codec::Cursor<'_>) -> codec::Result<Self> {
            Ok(match json.union(Self::GUARDS)? {
                0 => Self::Text(codec::Decode::decode(json)?),
                1 => Self::Multi(codec::Decode::decode(json)?),
                2 => Self::Single(codec::Decode::decode(json)?),
                3 => Self::Plain(codec::Decode::decode(json)?),
                5 => Self::List(codec::Decode::decode(json)?),
                6 => Self::Name(codec::Decode::decode(json)?),
                _ => Self::Count(codec::Decode::decode(json)?),
            })
        }
    }

    /// A closed list of strings.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum Level {
        Debug,
        Info,
    }

    impl Level {
        const NAMES: &'static [&'static str] = &["debug", "info"];
    }
    impl codec::Decode for Level {
        const NAME: &'static str = "Level";
        fn decode(json: codec::Cursor<'_>) -> codec::Result<Self> {
            Ok(match json.variant(Self::NAMES)? {
                0 => Self::Debug,
                _ => Self::Info,
            })
        }
    }

    macro_rules! request {
        ($name:ident, $method:literal, [$($version:ident $envelope:ident),*]) => {
            #[derive(Clone, Debug, PartialEq)]
            pub struct $name {
                $(pub $envelope: RequestId,)*
                pub params: Option<Json>,
                pub extra: Extra<$name>,
            }
            impl KnownMembers for $name {
                const MEMBERS: &'static [&'static str] =
                    &["method", "params", $(stringify!($version), stringify!($envelope),)*];
            }
            impl codec::Decode for $name {
                const NAME: &'static str = stringify!($name);
                fn decode(json: codec::Cursor<'_>) -> codec::Result<Self> {
                    codec::decode_in_place(json)
                }
            }
            impl codec::DecodeInPlace for $name {
                fn blank(unread: codec::Unread) -> Self {
                    let _ = unread;
                    Self {
                        $($envelope: codec::DecodeInPlace::blank(unread),)*
                        params: None,
                        extra: Extra::default(),
                    }
                }
                fn read(&mut self, json: codec::Cursor<'_>, unread: codec::Unread) -> codec::Result<()> {
                    // Only `params` is optional.
                    const REQUIRED: &[usize] = if $name::MEMBERS.len() == 2 { &[0] } else { &[0, 2, 3] };
                    json.read_object(const { &codec::MemberTable::new(Self::MEMBERS, REQUIRED) }, &mut &mut *self, unread)
                }
            }
            impl codec::ReadMember for $name {
                fn read_member(
                    &mut self,
                    index: usize,
                    json: codec::Cursor<'_>,
                    unread: codec::Unread,
                ) -> codec::Result<()> {
                    match index {
                        0 => json.read_constant(&Literal::Str($method)),
                        1 => codec::read_optional(json, &mut self.params, unread),
                        $(2 => json.read_constant(&Literal::Str("2.0")),
                        3 => codec::DecodeInPlace::read(&mut self.$envelope, json, unread),)*
                        _ => Ok(()),
                    }
                }
                keeps_others!();
            }
            impl codec::Object for $name {
                fn members(&self, out: &mut codec::Members<'_>) {
                    $(out.constant(stringify!($version), Literal::Str("2.0"));
                    out.member(stringify!($envelope), &self.$envelope);)*
                    out.constant("method", Literal::Str($method));
                    out.optional("params", &self.params);
                    out.extra(&self.extra);
                }
            }
            impl codec::Encode for $name {
                fn encode(&self) -> codec::Node<'_> {
                    codec::Node::Object(self)
                }
            }
        };
    }
    request!(OldPing, "ping", []);
    request!(NewPing, "ping", [jsonrpc id]);
    request!(OldProgress, "notifications/progress", []);
    request!(OldBoth, "both", []);

    impl Request for OldPing {
        const METHOD: &'static str = "ping";
        const VERSION: Version = Version::new("test");
        type Params = Option<JsonObject>;
        type Result = Tool;
    }
    impl TaskRequest for OldPing {
        type TaskResult = Icon;
    }

    macro_rules! set {
        (@first blank $unread:ident; $first:ident $(, $rest:ident)*) => {
            Self::$first(codec::DecodeInPlace::blank($unread))
        };
        ($name:ident: $set:ident { $($variant:ident $method:literal $index:literal),* } $($set_id:item)?) => {
            #[derive(Clone, Debug, PartialEq)]
            pub enum $name {
                $($variant($variant)),*
            }
            impl $name {
                const GUARDS: &'static [Guard] = &[$(
                    Guard {
                        when: &[Condition::Value(&["method"], &[Literal::Str($method)])],
                        variant: $index,
                    },
                )*];
            }
            impl codec::Decode for $name {
                const NAME: &'static str = stringify!($name);
                fn decode(json: codec::Cursor<'_>) -> codec::Result<Self> {
                    codec::decode_in_place(json)
                }
            }
            impl codec::DecodeInPlace for $name {
                fn blank(unread: codec::Unread) -> Self {
                    set!(@first blank unread; $($variant),*)
                }
                fn read(&mut self, json: codec::Cursor<'_>, unread: codec::Unread) -> codec::Result<()> {
                    self.read_method(json.union(Self::GUARDS)?, json, unread)
                }
            }
            impl codec::Encode for $name {
                fn encode(&self) -> codec::Node<'_> {
                    match self {
                        $(Self::$variant(message) => message.encode()),*
                    }
                }
            }
            impl MethodSet for $name {
                const METHODS: &'static [&'static str] = &[$($method),*];
                fn read_method(
                    &mut self,
                    index: usize,
                    json: codec::Cursor<'_>,
                    _: codec::Unread,
                ) -> codec::Result<()> {
                    *self = match index {
                        $($index => Self::$variant(codec::Decode::decode(json)?),)*
                        _ => unreachable!(),
                    };
                    Ok(())
                }
                fn method(&self) -> &'static str {
                    match self {
                        $(Self::$variant(_) => $method),*
                    }
                }
            }
            impl $set for $name {
                $($set_id)?
            }
        };
    }
    set!(OldRequest: RequestSet { OldPing "ping" 0, OldBoth "both" 1 });
    set!(NewRequest: RequestSet { NewPing "ping" 0 } fn set_id(&mut self, id: RequestId) {
        let Self::NewPing(ping) = self;
        ping.id = id;
    });
    set!(OldNotification: NotificationSet { OldProgress "notifications/progress" 0, OldBoth "both" 1 });

    mcpgen_types::codec::serde_impls! { Tool, Icon, InputSchema, ContentBlock }
}
use types::*;

type OldMessage = Message<OldRequest, OldNotification>;
type NewMessage = Message<NewRequest, Never>;

/// Checks that text and `Value` decode to the same value, which encodes to the same JSON.
fn round_trip<T: codec::Decode + codec::Encode>(text: &str) -> T {
    let value: Value = serde_json::from_str(text).unwrap();
    let decoded: T = mcpgen_types::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let expected = Json::from(&value);
    assert_eq!(Json::from(&decoded), expected, "{text}");
    let from_value: T = mcpgen_types::from_value(value).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(Json::from(&from_value), expected, "{text}");
    let from_reader: T = mcpgen_types::from_reader(text.as_bytes()).unwrap();
    assert_eq!(Json::from(&mcpgen_types::to_value(&from_reader).unwrap()), expected, "{text}");
    decoded
}

/// Checks that decoding the text fails with this message at this path, and so does decoding the `Value` if it has the
/// same members in the same order.
fn refused<T: codec::Decode>(text: &str, path: &str, words: &str) -> Error {
    let error = mcpgen_types::from_str::<T>(text).err().unwrap_or_else(|| panic!("{text} decodes"));
    assert_eq!((error.path().as_str(), error.to_string().as_str()), (path, words), "{text}");
    if !matches!(error.kind(), ErrorKind::Duplicate | ErrorKind::Conflict { .. } | ErrorKind::Json { .. }) {
        let value = serde_json::from_str(text).unwrap();
        let error = mcpgen_types::from_value::<T>(value).err().unwrap_or_else(|| panic!("{text} decodes"));
        assert_eq!((error.path().as_str(), error.to_string().as_str()), (path, words), "{text}");
    }
    error
}

#[test]
fn round_trips_documents() {
    for text in [
        r#"{"name":"a","inputSchema":{"type":"object"}}"#,
        r#"{"inputSchema":{"x":{"y":[null,1.0,1e300,18446744073709551615]},"type":"object"},"name":"a","title":"\u00e9"}"#,
        r#"{"name":"a","inputSchema":{"type":"object"},"parent":null,"_meta":{"io.x/y":null}}"#,
        r#"{"name":"a","inputSchema":{"type":"object"},"parent":"p","icons":[]}"#,
        r#"{"n\u0061me":"a","\u0000":"\ud834\udd1e","inputSchema":{"t\u0079pe":"\u006fbject"}}"#,
        r#"{"name":"a","inputSchema":{"type":"object"},"icons":[{"src":"s","width":-3,"scale":1.5}]}"#,
    ] {
        let tool: Tool = round_trip(text);
        assert_eq!(serde_json::from_str::<Tool>(text).unwrap(), tool);
        assert_eq!(serde_json::from_reader::<_, Tool>(text.as_bytes()).unwrap(), tool);
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_value(&tool).unwrap().to_string().len(), value.to_string().len());
        assert_eq!(serde_json::from_value::<Tool>(value).unwrap(), tool);
    }
}

#[test]
fn keeps_absent_and_null_members_apart() {
    let absent: Tool = round_trip(r#"{"name":"a","inputSchema":{"type":"object"}}"#);
    let null: Tool = round_trip(r#"{"name":"a","parent":null,"inputSchema":{"type":"object"}}"#);
    assert_eq!((absent.parent, null.parent), (None, Some(None)));
}

#[test]
fn round_trips_numbers() {
    for text in [
        "0",
        "1",
        "-1",
        "1.0",
        "-0.0",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "-9223372036854775808",
        "1e300",
        "5e-324",
        "1.7976931348623157e308",
        "0.1",
        "123456.789",
    ] {
        let number: Number = mcpgen_types::from_str(text).unwrap();
        let again: Number = mcpgen_types::from_str(&mcpgen_types::to_string(&number)).unwrap();
        assert_eq!(number, again);
        assert_eq!(mcpgen_types::to_string(&number), serde_json::from_str::<Value>(text).unwrap().to_string());
        round_trip::<Value>(text);
    }
    assert_eq!(mcpgen_types::from_str::<Number>("-0.0").unwrap().to_string(), "-0.0");
    assert_eq!(mcpgen_types::from_str::<Number>("1.0").unwrap().to_string(), "1.0");
    assert_eq!(mcpgen_types::from_str::<u64>("18446744073709551615").unwrap(), u64::MAX);
    assert_eq!(mcpgen_types::from_str::<i64>("-9223372036854775808").unwrap(), i64::MIN);
    assert_eq!(mcpgen_types::from_str::<i64>("1e3").unwrap(), 1000);
    assert_eq!(mcpgen_types::from_str::<i64>("-0.0").unwrap(), 0);
    refused::<i64>("1.5", "", "integer: expected integer, found number 1.5");
    refused::<i64>("\"1\"", "", "integer: expected integer, found string");
    refused::<i64>(
        "9223372036854775808",
        "",
        "integer: expected at most 9223372036854775807, found 9223372036854775808",
    );
    refused::<u64>("-1", "", "integer: expected at least 0, found -1");
    refused::<u64>(
        "18446744073709551616",
        "",
        "integer: expected at most 18446744073709551615, found 1.8446744073709552e19",
    );
    let error = mcpgen_types::from_str::<Number>("1e400").unwrap_err();
    assert!(error.to_string().contains("number out of range"), "{error}");
}

#[test]
fn numbers_compare_exactly() {
    let float = |float: f64| Number::try_from(float).unwrap();
    assert_eq!(Number::from(1), float(1.0));
    assert_eq!(float(-0.0), Number::from(0));
    assert!(Number::from(u64::MAX) < float(18_446_744_073_709_551_616.0));
    assert!(Number::from(9_007_199_254_740_993_u64) > float(9_007_199_254_740_992.0));
    assert!(Number::from(i64::MIN) > float(-1e300));
    assert!(float(1.5) > Number::from(1) && float(-1.5) < Number::from(-1));
    assert!(float(1e300).is_integer() && float(1e300).as_i64().is_none() && !float(0.5).is_integer());
    assert!(Number::try_from(f64::NAN).is_err() && Number::try_from(f64::INFINITY).is_err());
    let set: std::collections::HashSet<_> = [Number::from(1), float(1.0), float(0.0), float(-0.0), float(0.5)].into();
    assert_eq!(set.len(), 3);
}

#[test]
fn ids_are_integers_or_strings() {
    assert_eq!(mcpgen_types::from_str::<RequestId>("1.0").unwrap(), RequestId::from(1));
    assert_eq!(mcpgen_types::from_str::<RequestId>("\"1\"").unwrap(), RequestId::from("1"));
    refused::<RequestId>("1.5", "", "RequestId: expected string or integer, found number 1.5");
    refused::<RequestId>("null", "", "RequestId: expected string or integer, found null");
    refused::<ProgressToken>(
        "9223372036854775808",
        "",
        "ProgressToken: expected at most 9223372036854775807, found 9223372036854775808",
    );
    assert_eq!(RequestId::from(7_u32).to_string(), "7");
    round_trip::<ProgressToken>("-5");
}

#[test]
fn errors_have_type_path_and_expectation() {
    refused::<Tool>("5", "", "Tool: expected object, found number");
    refused::<Tool>("{}", "/name", "Tool: name: missing required member");
    refused::<Tool>(r#"{"name":[]}"#, "/name", "Tool: name: expected string, found array");
    refused::<Tool>(
        r#"{"name":"a","inputSchema":{"type":"array"}}"#,
        "/inputSchema/type",
        r#"Tool: inputSchema.type: expected constant "object", found "array""#,
    );
    refused::<Tool>(
        r#"{"name":"a","inputSchema":{}}"#,
        "/inputSchema/type",
        "Tool: inputSchema.type: missing required member",
    );
    refused::<Tool>(r#"{"name":"a","x":1,"name":"b"}"#, "/name", "Tool: name: member given twice");
    refused::<Tool>(r#"{"name":"a","n\u0061me":"b"}"#, "/name", "Tool: name: member given twice");
    refused::<Tool>(
        r#"{"name":"a","icons":[{"src":"s"},{"src":"s","a/~b":1}]}"#,
        "/icons/1/a~1~0b",
        r#"Tool: icons[1]["a/~b"]: unexpected member"#,
    );
    refused::<Icon>(r#"{"src":"s","scale":0}"#, "/scale", "Icon: scale: expected more than 0, found 0");
    refused::<Icon>(r#"{"src":"s","scale":2}"#, "/scale", "Icon: scale: expected at most 1.5, found 2");
    refused::<Short>("\"\"", "", "Short: expected at least 1 character, found 0");
    refused::<Short>("\"äöüß\"", "", "Short: expected at most 3 characters, found 4");
    assert!(mcpgen_types::from_str::<Short>("\"äöü\"").is_ok());
    // After 1, the unit is singular, whatever the check counts.
    let one = codec::Length { min: 1, max: Some(1) };
    for (unit, singular) in [
        ("items", "item"),
        ("members", "member"),
        ("entries", "entry"),
        ("items that `contains` accepts", "item that `contains` accepts"),
    ] {
        let error = |length| one.check_length(length, unit).expect_err(unit).to_string();
        assert_eq!(error(0), format!("expected at least 1 {singular}, found 0"));
        assert_eq!(error(2), format!("expected at most 1 {singular}, found 2"));
    }
    refused::<Level>("\"loud\"", "", r#"Level: expected one of "debug", "info", found "loud""#);
    refused::<Never>("null", "", "Never: no value is valid here");
    assert!(mcpgen_types::from_str::<Vec<Tool>>("[{}]").unwrap_err().to_string().starts_with("array: [0].name: "));
    let long = format!("\"{}\"", "x".repeat(100));
    assert!(mcpgen_types::from_str::<Level>(&long).unwrap_err().to_string().len() < 120);
}

#[test]
fn errors_have_line_and_column() {
    let text = "{\n  \"name\": \"a\",\n  \"inputSchema\": {\n    \"type\": 5\n  }\n}";
    let error = mcpgen_types::from_str::<Tool>(text).unwrap_err();
    assert_eq!((error.line(), error.column()), (Some(4), Some(13)));
    let foreign = serde_json::from_str::<Tool>(text).unwrap_err();
    // serde_json has read the text to its end when the document is decoded.
    assert_eq!((foreign.line(), foreign.to_string()), (0, error.to_string()));
    let error = mcpgen_types::from_str::<Tool>("\r\n\n  {\"x\":[],\"name\":5}").unwrap_err();
    assert_eq!((error.line(), error.column()), (Some(3), Some(18)), "white space before the value counts");
    let result = ResponseMessage::new(1, mcpgen_types::from_str::<Json>(r#"{"name":[]}"#).unwrap());
    let error = result.decode::<OldPing>().unwrap_err();
    assert_eq!((error.line(), error.column()), (Some(1), Some(9)));
    let message = r#"{"jsonrpc":"2.0","id":1,"result":{"name":[]}}"#;
    let result: ResponseMessage = mcpgen_types::from_str(message).unwrap();
    let error = result.decode::<OldPing>().unwrap_err();
    assert_eq!((error.line(), error.column()), (Some(1), Some(9)), "from the beginning of the result");
    let error = mcpgen_types::from_str::<Tool>("{\"name\":\"a\",\"icons\":[{\"src\":}]}").unwrap_err();
    assert_eq!(error.path(), "/icons/0/src");
    assert_eq!(error.to_string(), "Tool: icons[0].src: expected value at line 1 column 29");
    for (text, path) in [
        (r#"{"a":[1,{"\u0062":[null,[],1e999]}]}"#, "/a/1/b/2"),
        (r#"{"a":[[1,2 3]]}"#, "/a/0"),
        (r#"{"a":[[1,2,]]}"#, "/a/0"),
        (r#"{"a":[[],"#, "/a/1"),
        (r#"{"a":[[]"#, "/a"),
        (r#"{"a":{"b":1,"c"}}"#, "/a/c"),
        (r#"{"a":{"b":1,c}}"#, "/a"),
        (r#"{"a":"\ud800A"}"#, "/a"),
        (r#"{"a":"\ud800\u0041"}"#, "/a"),
        (r#"{"a":"\ud800\udbff"}"#, "/a"),
        (r#"{"a":"\udc00"}"#, "/a"),
        ("[{}{}]", ""),
        ("[", ""),
        ("", ""),
    ] {
        assert_eq!(mcpgen_types::from_str::<Value>(text).unwrap_err().path(), path, "{text}");
    }
    let error = mcpgen_types::from_str::<Value>(&"[".repeat(1_000_000)).unwrap_err();
    assert_eq!(error.path(), "/0".repeat(100), "no longer than that of a document");
    let error = mcpgen_types::from_str::<bool>("true false").unwrap_err();
    assert_eq!(error.to_string(), "boolean: trailing characters at line 1 column 6");
    let text = format!("{}{}[", "[".repeat(102), "]".repeat(102));
    let error = mcpgen_types::from_str::<Json>(&text).unwrap_err();
    assert!(error.to_string().ends_with("trailing characters at line 1 column 205"), "{error}");
    let error = mcpgen_types::from_slice::<String>(b"\n\"\xff\"").unwrap_err();
    assert_eq!(error.to_string(), "string: invalid UTF-8 at line 2 column 2");
    assert!(mcpgen_types::from_value::<Tool>(json!({})).unwrap_err().line().is_none());
}

#[test]
fn decides_unions_by_their_tag_in_any_order() {
    let early: ContentBlock = round_trip(r#"{"type":"text","text":"a","x":{"text":1}}"#);
    let late: ContentBlock = round_trip(r#"{"x":{"text":1},"text":"a","type":"text"}"#);
    assert_eq!(early, late);
    refused::<Vec<ContentBlock>>(
        r#"[{"type":"video"}]"#,
        "/0/type",
        r#"array: [0].type: expected one of "text", "image", found "video""#,
    );
    refused::<ContentBlock>(
        r#"{"text":"a"}"#,
        "/type",
        r#"ContentBlock: type: missing required member: expected one of "text", "image""#,
    );
    refused::<ContentBlock>("[]", "", "ContentBlock: expected object, found array");
    refused::<ContentBlock>(r#"{"type":"text","data":""}"#, "/text", "ContentBlock: text: missing required member");
    // The tag is after both members, before them, and between them.
    for text in [
        r#"{"text":"a","text":"b","type":"text"}"#,
        r#"{"type":"text","text":"a","text":"b"}"#,
        r#"{"text":"a","type":"text","text":"b"}"#,
    ] {
        refused::<ContentBlock>(text, "/text", "ContentBlock: text: member given twice");
    }
    let twice = r#"{"type":"text","text":"a","type":"text"}"#;
    refused::<ContentBlock>(twice, "/type", "ContentBlock: type: member given twice");
}

#[test]
fn guards_read_presence_type_and_nested_values() {
    for (text, expected) in [
        (r#"{"a":1,"text":null}"#, "Text"),
        (r#"{"items":{"enum":[]}}"#, "Multi"),
        (r#"{"n":1.0}"#, "Single"),
        (r#"{"n":{"a":[1.0]}}"#, "Single"),
        (r#"{"n":1,"data":1}"#, "Plain"),
        (r#"{"items":5}"#, "Plain"),
        ("[null,2]", "List"),
        ("\"s\"", "Name"),
        ("5.0", "Count"),
    ] {
        let decoded: Anything = mcpgen_types::from_str(text).unwrap();
        let shown = format!("{decoded:?}");
        assert!(shown.starts_with(expected), "{text}: {shown}");
        assert_eq!(mcpgen_types::from_value::<Anything>(serde_json::from_str(text).unwrap()).unwrap(), decoded);
    }
    let words = "Anything: expected integer or string or array or object, found number 1.5";
    refused::<Anything>("1.5", "", words);
    refused::<Anything>("true", "", "Anything: expected integer or string or array or object, found boolean");
    refused::<Anything>("[1,2]", "/0", "Anything: [0]: expected null, found 1");
    refused::<Anything>("[]", "/0", "Anything: [0]: missing required member: expected null");
}

#[test]
fn limits_nesting() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let tree = |depth: usize| (0..depth).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    let tool = |inner: &str| format!(r#"{{"name":"a","inputSchema":{{"type":"object"}},"deep":{inner}}}"#);
    assert!(mcpgen_types::from_str::<Value>(&nested(100)).is_ok());
    assert!(mcpgen_types::from_str::<Tool>(&tool(&nested(99))).is_ok());
    let error = mcpgen_types::from_str::<Tool>(&tool(&nested(100))).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Depth);
    assert!(error.path().starts_with("/deep/0/0"));
    assert!(mcpgen_types::from_value::<Value>(tree(100)).is_ok());
    assert_eq!(mcpgen_types::from_value::<Value>(tree(101)).unwrap_err().kind(), &ErrorKind::Depth);
    let mut deep = tree(50);
    for _ in 0..1_000_000 {
        deep = Value::Array(vec![deep, Value::Null]);
    }
    assert_eq!(mcpgen_types::from_value::<Value>(deep).unwrap_err().kind(), &ErrorKind::Depth);
    for text in [nested(101), "[".repeat(1_000_000), r#"{"a":"#.repeat(1_000_000), tool(&nested(100_000))] {
        assert!(mcpgen_types::from_str::<Value>(&text).is_err());
        assert!(mcpgen_types::from_str::<Json>(&text).is_err());
        assert!(mcpgen_types::from_str::<Anything>(&text).is_err());
        assert!(serde_json::from_str::<Tool>(&text).is_err());
    }
    // A result is decoded later, but its nesting counts from the root of the message.
    let response = |depth| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}}}"#, tool(&nested(depth)));
    let deepest = response(98);
    let read: ResponseMessage = mcpgen_types::from_str(&deepest).unwrap();
    read.decode::<OldPing>().unwrap();
    assert_eq!(mcpgen_types::to_string(&read), deepest);
    for depth in [99, 100_000] {
        let error = mcpgen_types::from_str::<ResponseMessage>(&response(depth)).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Depth);
        assert!(error.path().starts_with("/result/deep/0/0"));
        assert!(serde_json::from_str::<ResponseMessage>(&response(depth)).is_err());
    }
}

#[test]
fn extra_rejects_known_names() {
    let mut extra = Extra::<Tool>::default();
    assert_eq!(extra.insert("x", 1).unwrap(), None);
    assert_eq!(extra.insert("x", 2).unwrap(), Some(1.into()));
    assert_eq!(extra.insert("title", 1).unwrap_err().to_string(), "`title` is a known member, not an extra one");
    assert_eq!(extra.len(), 1);
    assert_eq!(size_of::<Extra<Tool>>(), size_of::<usize>());
    assert_eq!(size_of::<Error>(), size_of::<usize>());
    assert_eq!(format!("{extra:?}"), r#"{"x":2}"#);
    assert_eq!(extra.remove("x"), Some(2.into()));
    assert_eq!(extra, Extra::default());
}

#[test]
fn result_type_accepts_unknown_values() {
    assert_eq!(ResultType::default().as_str(), "complete");
    assert_eq!(mcpgen_types::from_str::<ResultType>("\"complete\"").unwrap(), ResultType::COMPLETE);
    assert_eq!(round_trip::<ResultType>("\"later\""), ResultType::from("later"));
}

#[test]
fn classifies_messages() {
    for (text, expected) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "Request"),
        (r#"{"method":"ping","params":{"a":1},"jsonrpc":"2.0","id":"x"}"#, "Request"),
        (r#"{"params":{},"id":1,"x":[{}],"method":"ping","jsonrpc":"2.0","y":1}"#, "Request"),
        (r#"{"jsonrpc":"2.0","method":"both","id":1}"#, "Request"),
        (r#"{"jsonrpc":"2.0","method":"both","params":{}}"#, "Notification"),
        (r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"a":[1.0]}}"#, "Notification"),
        (r#"{"params":{},"method":"notifications/progress","jsonrpc":"2.0"}"#, "Notification"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{"a":{"b":1}}}"#, "Response"),
        (r#"{"result":{},"x":1,"id":"1","jsonrpc":"2.0","params":1}"#, "Response"),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m","data":null,"x":1}}"#, "Error"),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#, "Error"),
        (r#"{"error":{"code":1,"message":"m"},"jsonrpc":"2.0"}"#, "Error"),
    ] {
        let message: OldMessage = round_trip(text);
        assert!(format!("{message:?}").starts_with(expected), "{text}: {message:?}");
        assert_eq!(serde_json::from_str::<OldMessage>(text).unwrap(), message);
        assert_eq!(serde_json::to_string(&message).unwrap().len(), mcpgen_types::to_string(&message).len());
    }
}

#[test]
fn rejects_invalid_messages() {
    for (text, path, words) in [
        ("[]", "", "expected object, found array"),
        ("{}", "/jsonrpc", "jsonrpc: missing required member"),
        (r#"{"jsonrpc":"2.0"}"#, "", "expected a member `method`, `result` or `error`, found none"),
        (r#"{"id":1,"method":"ping"}"#, "/jsonrpc", "jsonrpc: missing required member"),
        (r#"{"id":1,"result":{}}"#, "/jsonrpc", "jsonrpc: missing required member"),
        (r#"{"jsonrpc":"1.0"}"#, "/jsonrpc", r#"jsonrpc: expected constant "2.0", found "1.0""#),
        (r#"{"id":1,"method":"ping","jsonrpc":2}"#, "/jsonrpc", r#"jsonrpc: expected constant "2.0", found 2"#),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "/id", "id: expected string or integer, found null"),
        (r#"{"jsonrpc":"2.0","method":"ping","id":null}"#, "/id", "id: expected string or integer, found null"),
        (r#"{"jsonrpc":"2.0","method":"both","id":null}"#, "/id", "id: expected string or integer, found null"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, "/id", "id: expected string or integer, found number 1.5"),
        (r#"{"jsonrpc":"2.0","method":"ping"}"#, "/id", "id: missing required member"),
        (r#"{"jsonrpc":"2.0","result":{}}"#, "/id", "id: missing required member"),
        (r#"{"jsonrpc":"2.0","id":null,"result":{}}"#, "/id", "id: expected string or integer, found null"),
        (r#"{"jsonrpc":"2.0","id":1,"result":[]}"#, "/result", "result: expected object, found array"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, "/error", "error: cannot be combined with `result`"),
        (r#"{"method":"ping","result":{}}"#, "/result", "result: cannot be combined with `method`"),
        (r#"{"error":{"code":1,"message":""},"method":"x"}"#, "/method", "method: cannot be combined with `error`"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"no"}"#, "/method", r#"method: unknown request method "no""#),
        (r#"{"jsonrpc":"2.0","method":"no","id":1}"#, "/method", r#"method: unknown request method "no""#),
        (r#"{"jsonrpc":"2.0","method":"no"}"#, "/method", r#"method: unknown notification method "no""#),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/progress","id":1}"#,
            "/method",
            r#"method: unknown request method "notifications/progress""#,
        ),
        (r#"{"error":{"code":1}}"#, "/jsonrpc", "jsonrpc: missing required member"),
        (r#"{"error":{"code":1},"jsonrpc":"2.0"}"#, "/error/message", "error.message: missing required member"),
    ] {
        refused::<OldMessage>(text, path, &format!("message: {words}"));
    }
    for name in ["jsonrpc", "id", "method", "params", "result", "error"] {
        let request = r#""id":1,"method":"ping","params":{},"jsonrpc":"2.0""#;
        let reordered = r#""method":"ping","id":1,"jsonrpc":"2.0","params":{}"#;
        let value = match name {
            "jsonrpc" => "\"2.0\"",
            "method" => "\"ping\"",
            "params" | "result" => "{}",
            "id" => "1",
            _ => r#"{"code":1,"message":"m"}"#,
        };
        let path = format!("/{name}");
        let texts = match name {
            "result" | "error" => vec![format!("{{\"{name}\":{value},\"{name}\":{value}}}")],
            _ => vec![
                format!("{{{request},\"{name}\":{value}}}"),
                format!("{{{reordered},\"{name}\":{value}}}"),
                format!("{{\"{name}\":{value},{request}}}"),
            ],
        };
        for text in texts {
            refused::<OldMessage>(&text, &path, &format!("message: {name}: member given twice"));
        }
    }
    let params = r#"{"params":1,"params":2,"id":1,"method":"ping","jsonrpc":"2.0"}"#;
    refused::<NewMessage>(params, "/params", "message: params: member given twice");
}

#[test]
fn extra_contains_neither_jsonrpc_nor_id() {
    for text in [
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","x":1}"#,
        r#"{"method":"ping","x":1,"id":7,"jsonrpc":"2.0"}"#,
        r#"{"x":1,"id":7,"method":"ping","jsonrpc":"2.0"}"#,
    ] {
        let canonical = r#"{"jsonrpc":"2.0","id":7,"method":"ping","x":1}"#;
        let Message::Request(old) = mcpgen_types::from_str::<OldMessage>(text).unwrap() else { panic!() };
        assert_eq!((old.id(), old.request().method()), (&RequestId::from(7), "ping"));
        let OldRequest::OldPing(ping) = old.request() else { panic!() };
        assert_eq!(ping.extra.len(), 1);
        assert_eq!(mcpgen_types::to_string(&old), canonical);

        let Message::Request(new) = mcpgen_types::from_str::<NewMessage>(text).unwrap() else { panic!() };
        let NewRequest::NewPing(ping) = new.request();
        assert_eq!((ping.extra.len(), &ping.id), (1, new.id()));
        assert_eq!(mcpgen_types::to_string(&new), canonical);
        let again = RequestMessage::<NewRequest>::new("other", new.into_parts().1);
        assert_eq!(mcpgen_types::to_string(&again), canonical.replace('7', "\"other\""));
    }
    refused::<NewMessage>(r#"{"jsonrpc":"2.0","method":"ping"}"#, "/id", "message: id: missing required member");
    refused::<NewMessage>(r#"{"id":1,"method":"ping"}"#, "/jsonrpc", "message: jsonrpc: missing required member");
}

#[test]
fn decodes_batches() {
    let one = r#"{"method":"both","id":1,"jsonrpc":"2.0"}"#;
    let batch: Vec<OldMessage> = round_trip(&format!("[{one},{one}]"));
    assert_eq!(batch.len(), 2);
    let error = mcpgen_types::from_str::<Vec<OldMessage>>(&format!("[{one},{{}}]")).unwrap_err();
    assert_eq!(error.path(), "/1/jsonrpc");
}

/// Guards look up each key once, so repeated keys do not slow them down.
#[test]
fn decodes_many_repeated_keys() {
    for key in ["items", "n", "x"] {
        let members = format!("\"{key}\":0,").repeat(100_000);
        let text = format!("{{{members}\"end\":0}}");
        let decoded: Anything = mcpgen_types::from_str(&text).unwrap();
        assert!(matches!(decoded, Anything::Plain(_)));
    }
}

#[test]
fn decodes_results_by_request() {
    let text = r#"{"jsonrpc":"2.0","id":1,"result":{"name":"a",
        "inputSchema":{"type":"object"}}}"#;
    let response: ResponseMessage = mcpgen_types::from_str(text).unwrap();
    let tool = response.decode::<OldPing>().unwrap();
    assert!(!mcpgen_types::to_string(&response).contains('\n'));
    assert_eq!(ResponseMessage::new(1, &tool), response);
    let error = response.decode_task::<OldPing>().unwrap_err();
    assert_eq!(error.to_string(), "ping task result: name: unexpected member");
    let twice = r#"{"jsonrpc":"2.0","id":1,"result":{"name":"a","name":"b"}}"#;
    let response: ResponseMessage = mcpgen_types::from_str(twice).unwrap();
    assert_eq!(response.decode::<OldPing>().unwrap_err().to_string(), "ping result: name: member given twice");
    let elsewhere: ResponseMessage = serde_json::from_str(twice).unwrap();
    assert_eq!(elsewhere.decode::<OldPing>().unwrap_err().to_string(), "ping result: name: member given twice");
    assert_eq!(mcpgen_types::to_string(&elsewhere), mcpgen_types::to_string(&response));
    refused::<ResponseMessage>(
        r#"{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}"#,
        "",
        "response: expected a response, found an error",
    );
}

#[test]
fn into_vec_encodes_like_to_vec() {
    let read = r#"{"jsonrpc":"2.0","id":1,"result":{"a":[1,"é"]},"more":true}"#;
    let long = "x".repeat(5000);
    let mut response: ResponseMessage = mcpgen_types::from_str(read).unwrap();
    for (id, result) in [
        (RequestId::Integer(-7), Json::from(&json!({}))),
        (RequestId::String("\"é\n".repeat(200)), Json::from(&json!({ "text": long }))),
        (RequestId::Integer(i64::MAX), response.result.clone()),
    ] {
        let built = ResponseMessage::new(id, result);
        assert_eq!(String::from_utf8(built.clone().into_vec()).unwrap(), mcpgen_types::to_string(&built));
    }
    assert_eq!(response.clone().into_vec(), read.as_bytes());
    response.extra.remove("more");
    assert_eq!(response.clone().into_vec(), mcpgen_types::to_vec(&response));
}

#[test]
fn decodes_raw_strings_of_any_length() {
    let texts = [0, 1, 63, 64, 65, 5000].map(|length| "é\n".repeat(length / 3) + &"x".repeat(length % 3));
    let keys = texts.iter().cloned().zip(texts.iter().rev());
    let value = json!({"all": &texts, "by": keys.map(|(key, text)| (key, json!({ "t": text }))).collect::<Value>()});
    let text = value.to_string();
    let raw: Json = mcpgen_types::from_str(&text).unwrap();
    assert_eq!(raw.to_string(), text);
    assert_eq!(raw.decode::<Value>().unwrap(), value);
    assert_eq!(raw.decode::<Value>().unwrap(), value, "decoding does not consume the value");
    assert_eq!(Json::from(&value).decode::<Value>().unwrap(), value, "from text");

    for text in &texts {
        let tool = json!({"name": text, "inputSchema": {"type": "object", text: text}});
        let response = ResponseMessage::new(1, mcpgen_types::from_str::<Json>(&tool.to_string()).unwrap());
        let decoded = response.decode::<OldPing>().unwrap();
        assert_eq!(mcpgen_types::to_value(&decoded).unwrap(), tool);
    }
    let wrong = ResponseMessage::new(1, mcpgen_types::from_str::<Json>(r#"{"name":1}"#).unwrap());
    let error = wrong.decode::<OldPing>().unwrap_err();
    assert_eq!(error.to_string(), "ping result: name: expected string, found number");
}

#[test]
fn decodes_error_responses() {
    let text = r#"{"jsonrpc":"2.0","error":{"code":-32601,"message":"no","data":null}}"#;
    let Message::Error(message) = round_trip::<OldMessage>(text) else { panic!() };
    assert_eq!(message.id, ErrorId::Absent);
    assert_eq!(message.error, ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, "no").with_data(Value::Null));
    assert_eq!(message.error.to_string(), "no (-32601)");
}

#[test]
fn accepts_absent_params_but_not_null() {
    use mcpgen_types::Params as _;
    type Optional = <OldPing as Request>::Params;
    assert_eq!(Optional::from_member(None).unwrap(), None);
    let raw = Json::from(&json!({"a": 1}));
    let params = Optional::from_member(Some(&raw)).unwrap();
    assert_eq!(Json::from(&params), raw);
    assert!(params.to_member().is_some() && Optional::None.to_member().is_none());
    let null = Json::from(&Value::Null);
    assert_eq!(Optional::from_member(Some(&null)).unwrap_err().kind().to_string(), "expected object, found null");
    let error = Tool::from_member(None).unwrap_err();
    assert_eq!((error.path().as_str(), error.kind()), ("/params", &ErrorKind::Missing));
}

#[test]
fn json_reuses_the_text_of_its_document() {
    let long = "x".repeat(10_000);
    let deep = "[".repeat(200) + &"]".repeat(200);
    for (value, expected) in [
        ("1", Ok("1")),
        (r#"{"é":" \n"}"#, Ok(r#"{"é":" \n"}"#)),
        ("[1,\r\n2]", Ok("[1,2]")),
        (&*format!("\"{long}\""), Ok(&*format!("\"{long}\""))),
        (&deep, Err(ErrorKind::Depth)),
    ] {
        for (before, space) in [("", ""), ("ä", ""), (&*long, ""), ("", " "), (&*long, "\n")] {
            let text = format!("{space}[{space}\"{before}\"{space},{value}{space}]\n");
            let memory = text.as_ptr();
            let document = Document::read_any_depth(text).unwrap();
            let place = document.root().get("1").unwrap().place();
            assert_eq!(document.at(place).text(), value);
            let json = Json::extract(document, place).map(Json::into_text).map_err(|error| error.kind().clone());
            assert_eq!(json.as_deref(), expected.as_ref().copied());
            let Ok(text) = json else { continue };
            match before == long {
                false => assert_eq!(text.as_ptr() == memory, space.is_empty() && expected == Ok(value), "{value}"),
                true => assert!(text.capacity() <= 2 * text.len() + 1024, "{value}"),
            }
        }
    }
    let null = Json::extract(Document::default(), Place::ROOT).unwrap();
    assert_eq!((null.decode::<()>().unwrap(), null), ((), Json::from(&Value::Null)));
}

#[test]
fn json_is_created_from_values() {
    for (json, text) in [
        (Json::default(), "null"),
        (Json::from(()), "null"),
        (true.into(), "true"),
        ((-5).into(), "-5"),
        (u64::MAX.into(), "18446744073709551615"),
        (1.0.into(), "1.0"),
        (f64::NAN.into(), "null"),
        ("a\"b".into(), r#""a\"b""#),
        (String::from("c").into(), r#""c""#),
        (json!({ "b": [1, null] }).into(), r#"{"b":[1,null]}"#),
        (vec!["a".to_owned(), "b".to_owned()].into(), r#"["a","b"]"#),
        (Some(true).into(), "true"),
        (["x", "y"].into_iter().collect(), r#"["x","y"]"#),
        (Json::serialize(&(1, "a")).unwrap(), r#"[1,"a"]"#),
        (" { \"a\" : 1.50 } ".parse().unwrap(), r#"{"a":1.50}"#),
    ] {
        assert_eq!(json.text(), text);
        assert_eq!(json.to_string(), format!("{json:?}"));
        assert_eq!(Value::from(json.clone()), json);
    }
    assert_eq!(
        Json::serialize(&std::collections::BTreeMap::from([((1, 2), 3)])).unwrap_err().to_string(),
        "key must be a string"
    );
    assert_eq!("[1".parse::<Json>().unwrap_err().to_string(), "EOF while parsing a list at line 1 column 2");
}

/// Members stay as they were written, in the order of the document.
#[test]
fn free_form_json_keeps_its_text() {
    let params = r#"{"z":1.0,"a":[1e2,"\u0061"],"z":-0}"#;
    for (spaced, around) in [(false, ""), (true, " ")] {
        let text = format!(
            r#"{{"x":1.50,{around}"jsonrpc":"2.0","id":1,"b\n":{params},"method":"ping","params":{params},"x":2}}"#
        );
        let message: NewMessage = mcpgen_types::from_str(&text).unwrap();
        let Message::Request(request) = &message else { panic!() };
        let NewRequest::NewPing(ping) = request.request();
        assert_eq!(ping.params.as_ref().map(Json::text), Some(params), "{spaced}");
        assert_eq!(format!("{:?}", ping.extra), format!(r#"{{"x":1.50,"b\n":{params},"x":2}}"#));
        let extra: Vec<_> = ping.extra.iter().map(|(name, value)| (name.into_owned(), value.text())).collect();
        assert_eq!(extra, [("b\n".to_owned(), params), ("x".to_owned(), "2")]);
        assert_eq!((ping.extra.len(), ping.extra.get("b\n").unwrap().get("z").unwrap().text()), (2, "-0"));
        let encoded = mcpgen_types::to_string(&message);
        assert_eq!(
            encoded,
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{params},"x":1.50,"b\n":{params},"x":2}}"#)
        );
        assert_eq!(mcpgen_types::from_str::<NewMessage>(&encoded).unwrap(), message);
        let once = encoded.replace(r#""x":1.50,"#, "").replace(r#""z":1.0,"#, "");
        assert_eq!(mcpgen_types::from_str::<NewMessage>(&once).unwrap(), message);
        assert_eq!(serde_json::to_value(&message).unwrap(), serde_json::from_str::<Value>(&text).unwrap());
    }
}

#[test]
fn objects_are_changed_and_compared() {
    let mut object: JsonObject = mcpgen_types::from_str(r#"{ "b" : 1.0, "\u0061": { "c" : [ ] }, "b": 2 }"#).unwrap();
    assert_eq!(object.text(), r#"{"b":1.0,"\u0061":{"c":[]},"b":2}"#);
    assert_eq!((object.len(), object.contains_key("a"), object.contains_key("c")), (2, true, false));
    assert_eq!(object, json!({ "a": { "c": [] }, "b": 2 }));
    assert_eq!(object.insert("b", "x"), Some(2.into()));
    assert_eq!(object.text(), r#"{"a":{"c":[]},"b":"x"}"#);
    assert_eq!((object.remove("c"), object.remove("a")), (None, Some(json!({ "c": [] }).into())));
    assert_eq!((object.remove("b"), object.is_empty(), object.text()), (Some("x".into()), true, "{}"));
    assert_eq!(object, JsonObject::default());
    assert_eq!((object.insert("q\"\n", json!(null)), object.text()), (None, r#"{"q\"\n":null}"#));
    object.extend([("z", Json::from(1)), ("q\"\n", 2.into()), ("z", 3.into())]);
    assert_eq!(object.text(), r#"{"q\"\n":2,"z":3}"#);
    let collected: JsonObject = object.clone().into_iter().collect();
    assert_eq!(collected, object);
    assert_eq!(JsonObject::from([("z", 3.into()), ("q\"\n", Json::from(2))]), object);
    assert_eq!(JsonObject::serialize(&std::collections::BTreeMap::from([("q\"\n", 2), ("z", 3)])).unwrap(), object);
    let map = serde_json::Map::from(object.clone());
    assert_eq!((map.len(), JsonObject::from(map)), (2, object.clone()));
    assert_eq!(JsonObject::try_from(Json::from(object.clone())).unwrap(), object);
    let error = JsonObject::try_from(Json::from(vec![1_i64])).unwrap_err();
    assert_eq!(error.to_string(), mcpgen_types::from_str::<JsonObject>("[1]").unwrap_err().to_string());
    assert_eq!(error.to_string(), "object: expected object, found array");
}

/// If a name occurs more than once, the last member counts, whichever function reads the object.
#[test]
fn the_last_member_of_a_name_counts() {
    use std::collections::BTreeMap;
    let json: Json = r#"{"a":1,"b":2,"\u0061":3}"#.parse().unwrap();
    let expected = json!({ "a": 3, "b": 2 });
    assert_eq!(json.get("a").unwrap(), json!(3));
    assert_eq!(json.pointer("/a").unwrap(), json!(3));
    let members: Vec<_> = json.members().map(|(name, value)| (name.into_owned(), value.as_i64())).collect();
    assert_eq!(members, [("b".to_owned(), Some(2)), ("a".to_owned(), Some(3))]);
    assert_eq!(json.to_value(), expected);
    assert_eq!(json.decode::<Value>().unwrap(), expected);
    assert_eq!(json.decode::<mcpgen_types::Map<String, i64>>().unwrap()["a"], 3);
    assert_eq!(json.deserialize::<BTreeMap<String, i64>>().unwrap()["a"], 3);
    assert_eq!(mcpgen_types::to_value(&json).unwrap(), expected);
    assert_eq!(json, Json::from(expected));
    assert_eq!(json.read(|cursor| cursor.get("a").map(|a| a.text().into_owned())).unwrap().as_deref(), Some("3"));
}

#[test]
fn json_values_are_compared() {
    let raw = |text: &str| mcpgen_types::from_str::<Json>(text).unwrap();
    assert_eq!(raw(r#"{"a":1,"b":[1.0]}"#), raw(r#"{"b":[1],"a":1e0}"#));
    assert_ne!(raw("[1]"), raw("[1,1]"));
    assert_eq!(raw(r#"{"a":1,"a":2}"#), raw(r#"{"a":2}"#));
    assert_eq!(raw(r#"{"a":1,"a":2}"#).to_string(), r#"{"a":1,"a":2}"#);
}

#[test]
fn keeps_keys_that_serde_json_reserves() {
    for text in [
        r#"{"$serde_json::private::Number":"1"}"#,
        r#"{"$serde_json::private::Number":5,"x":1}"#,
        r#"{"$serde_json::private::RawValue":"1"}"#,
    ] {
        let value: JsonObject = mcpgen_types::from_str(text).unwrap();
        assert_eq!(mcpgen_types::to_string(&value), text);
    }
}

#[cfg(feature = "schemars")]
#[test]
fn schemas_contain_only_referenced_definitions() {
    const FACTS: &str = r##"{"$defs": {
        "Tree": {"properties": {"next": {"$ref": "#/$defs/Tree"}, "icon": {"$ref": "#/$defs/Leaf"}}},
        "Leaf": {"type": "string"},
        "Other": {}
    }}"##;
    struct Tree;
    struct Leaf;
    codec::json_schema_impls! { FACTS; "Tree" => Tree, "Leaf" => Leaf }
    let mut generator = schemars::SchemaGenerator::default();
    let tree = <Tree as schemars::JsonSchema>::json_schema(&mut generator);
    let definitions = tree.get("$defs").unwrap().as_object().unwrap();
    assert_eq!(definitions.keys().collect::<Vec<_>>(), ["Leaf", "Tree"]);
    assert!(tree.get("$id").is_some());
    let leaf = <Leaf as schemars::JsonSchema>::json_schema(&mut generator);
    assert_eq!(leaf.as_value(), &json!({"type": "string"}));
}

#[test]
fn writes_strings_like_serde_json() {
    let characters: String = (0..0x100).filter_map(char::from_u32).chain("漢🦀\u{2028}\u{2029}".chars()).collect();
    let alone = characters.chars().flat_map(|character| {
        (0..20).map(move |place| format!("{}{character}{}", "a".repeat(place), "a".repeat(19 - place)))
    });
    let short =
        characters.chars().flat_map(|character| (0..9).map(move |length| "a".repeat(length) + &character.to_string()));
    let pairs =
        characters.chars().flat_map(|a| ["\0", "\u{1f}", " ", "!", "\"", "\\", "é"].map(|b| format!("{a}{b}{a}{a}")));
    let long = (0..40).map(|length| "x".repeat(length) + &characters + &"\n".repeat(length) + "end");
    for text in alone.chain(short).chain(pairs).chain(long).chain([characters.repeat(20)]) {
        assert_eq!(mcpgen_types::to_string(&text), serde_json::to_string(&text).unwrap());
    }
}

#[test]
fn estimates_the_memory_of_decoded_values() {
    fn held<T: codec::DecodeInPlace>(element: &str) -> (String, usize) {
        let text = format!("[{}]", vec![element; 1000].join(","));
        let decoded: Vec<T> = mcpgen_types::from_str(&text).unwrap();
        (text, decoded.capacity() * size_of::<T>())
    }
    let members: Vec<_> = (0..1000).map(|number| format!("\"{number}\":0")).collect();
    let members = format!("{{{}}}", members.join(","));
    for (text, bytes) in [
        held::<String>("\"\""),
        held::<String>("\"a\""),
        held::<Json>("0"),
        held::<Json>("{}"),
        held::<Json>("[[0]]"),
        held::<Icon>(r#"{"src":""}"#),
        held::<Tool>(r#"{"name":"","inputSchema":{"type":"object"}}"#),
        (members.clone(), 1000 * (size_of::<String>() + size_of::<Json>())),
        (json!({ "free": members }).to_string(), members.len()),
    ] {
        let (estimated, shown) =
            (Document::read(&*text).unwrap().root().decoded_bytes(), text.get(..30).unwrap_or(&text));
        assert!(estimated >= bytes, "{shown}: {estimated} < {bytes}");
        assert!(estimated <= 30 * text.len(), "{shown}: {estimated} is far from {}", text.len());
    }
}

#[test]
fn a_string_with_a_limit_is_created_and_shown_like_text() {
    #[derive(Clone, Debug, PartialEq)]
    pub struct Title(String);
    codec::bounded_length! { Title(String) check_str; at_least(1), at_most(5) }
    codec::text! { Title }

    let title = Title::try_from("notes").unwrap();
    assert_eq!((title.as_ref(), title.get().as_str(), title.to_string().as_str()), ("notes", "notes", "notes"));
    assert_eq!(format!("{title:>7}"), "  notes");
    assert_eq!(Title::try_from("").unwrap_err().to_string(), Title::try_from(String::new()).unwrap_err().to_string());
    assert!(Title::try_from("a title").is_err());
}
