//! Macros that implement the functions and traits of generated types. A declaration in a generated file calls one of
//! them with the members, variants or values of a type. A macro cannot count, so it numbers members and variants with
//! an enum.
//!
//! For a struct, the macros expand to code like this:
//!
//! ```
//! use mcpgen_types::codec::{self, DecodeInPlace};
//! use mcpgen_types::{Error, Extra, KnownMembers};
//!
//! #[derive(Debug, PartialEq)]
//! struct Icon { src: String, theme: Option<String>, extra: Extra<Icon> }
//!
//! impl Icon {
//!     pub fn new(src: impl Into<String>) -> Self {
//!         Self { src: src.into(), theme: None, extra: Extra::default() }
//!     }
//!     pub fn with_theme(mut self, theme: impl Into<String>) -> Self {
//!         self.theme = Some(theme.into());
//!         self
//!     }
//! }
//!
//! impl codec::Decode for Icon {
//!     const NAME: &'static str = "Icon";
//!     fn decode(json: codec::Cursor<'_>) -> Result<Self, Error> {
//!         codec::decode_in_place(json)
//!     }
//! }
//!
//! impl codec::DecodeInPlace for Icon {
//!     fn blank(_: codec::Unread) -> Self {
//!         Self { src: String::new(), theme: None, extra: Extra::default() }
//!     }
//!     fn read(&mut self, json: codec::Cursor<'_>, unread: codec::Unread) -> Result<(), Error> {
//!         const TABLE: &codec::MemberTable = &codec::MemberTable::new(Icon::MEMBERS, &[0]);
//!         json.read_object(TABLE, &mut &mut *self, unread)
//!     }
//! }
//!
//! impl KnownMembers for Icon {
//!     const MEMBERS: &'static [&'static str] = &["src", "theme"];
//! }
//!
//! impl codec::ReadMember for Icon {
//!     fn read_member(&mut self, index: usize, json: codec::Cursor<'_>, unread: codec::Unread) -> Result<(), Error> {
//!         match index {
//!             0 => self.src.read(json, unread),
//!             1 => codec::read_optional(json, &mut self.theme, unread),
//!             _ => Ok(()),
//!         }
//!     }
//!     fn read_other(
//!         &mut self,
//!         name: codec::Cursor<'_>,
//!         value: codec::Cursor<'_>,
//!         unread: codec::Unread,
//!     ) -> Result<(), Error> {
//!         codec::read_other(&mut self.extra, name, value, unread)
//!     }
//!     fn finish_others(&mut self, unread: codec::Unread) {
//!         self.extra.finish(unread);
//!     }
//! }
//!
//! impl codec::Object for Icon {
//!     fn members(&self, out: &mut codec::Members<'_>) {
//!         out.member("src", &self.src);
//!         out.optional("theme", &self.theme);
//!         out.extra(&self.extra);
//!     }
//! }
//!
//! impl codec::Encode for Icon {
//!     fn encode(&self) -> codec::Node<'_> { codec::Node::Object(self) }
//! }
//!
//! let text = r#"{"src":"a.png","x":[1,1.0]}"#;
//! let icon: Icon = mcpgen_types::from_str(text)?;
//! assert_eq!(Icon::new("b.png").with_theme("dark").theme.as_deref(), Some("dark"));
//! assert_eq!(mcpgen_types::to_string(&icon), text);
//! let error = mcpgen_types::from_str::<Icon>(r#"{"src":5}"#).unwrap_err();
//! assert_eq!(error.to_string(), "Icon: src: expected string, found number");
//! # Ok::<(), Error>(())
//! ```

/// Gives each member or variant an index.
#[doc(hidden)]
#[macro_export]
macro_rules! __index {
    ($($name:ident)*) => {
        #[allow(non_camel_case_types, clippy::enum_variant_names, reason = "named after fields and variants")]
        enum __Index {
            $($name,)*
        }
    };
}

/// The documentation of `new`, which depends on whether it takes arguments and sets defaults.
#[doc(hidden)]
#[macro_export]
macro_rules! __constructor_docs {
    ([] []) => {
        "Creates a value without optional members."
    };
    ([$($required:ident)+] []) => {
        "Creates a value from its required members."
    };
    ([] [$($default:ident)+]) => {
        "Creates a value from the schema's defaults."
    };
    ([$($required:ident)+] [$($default:ident)+]) => {
        "Creates a value from its required members and the schema's defaults."
    };
}

/// Expands to the return type or the return value of a constructor or builder step: the value, or a builder around it.
#[doc(hidden)]
#[macro_export]
macro_rules! __constructed {
    (type $name:ident) => {
        $name
    };
    (type $name:ident $builder:ident) => {
        $builder<0>
    };
    (type $name:ident $builder:ident $next:literal) => {
        $builder<$next>
    };
    (value $builder:ident Self $fields:tt) => {
        $builder(Self $fields)
    };
    (value $builder:ident $next:literal $value:expr) => {
        $builder($value)
    };
    (value $value:expr) => {
        $value
    };
}

/// Implements `Request`, and `TaskRequest` if there is a task result. Arguments: method, params, results and version.
#[doc(hidden)]
#[macro_export]
macro_rules! __request {
    ($name:ident; $method:literal ($params:ty) -> $result:ty $(, task $task:ty)?; $version:literal) => {
        impl $crate::Request for $name {
            const METHOD: &'static str = $method;
            const VERSION: $crate::Version = $crate::Version::new($version);
            type Params = $params;
            type Result = $result;
        }
        $(impl $crate::TaskRequest for $name {
            type TaskResult = $task;
        })?
    };
}

/// Implements `Notification`. Arguments: method, params and version.
#[doc(hidden)]
#[macro_export]
macro_rules! __notification {
    ($name:ident; $method:literal ($params:ty); $version:literal) => {
        impl $crate::Notification for $name {
            const METHOD: &'static str = $method;
            const VERSION: $crate::Version = $crate::Version::new($version);
            type Params = $params;
        }
    };
}

/// Implements `RequestSet` for the requests of a direction. Arguments, per request: its variant, type and method, the
/// visitor function to call, and the ID field (`id` if its type is `RequestId`, otherwise `like`).
#[doc(hidden)]
#[macro_export]
macro_rules! __request_set {
    (
        $name:ident;
        $($variant:ident($request:ty) $method:tt $visit:ident $(id $id:ident)? $(like $other_id:ident)?),* $(,)?
    ) => {
        impl $crate::RequestSet for $name {
            fn set_id(&mut self, _id: $crate::RequestId) {
                match self {
                    $(Self::$variant(_request) => {
                        $(_request.$id = _id.into();)?
                        $($crate::codec::set_id(&mut _request.$other_id, &_id);)?
                    })*
                }
            }
            fn request_type<V: $crate::RequestTypeVisitor>(
                method: &str,
                visitor: V,
            ) -> ::core::option::Option<V::Output> {
                match method {
                    $($method => ::core::option::Option::Some(visitor.$visit::<$request>()),)*
                    _ => ::core::option::Option::None,
                }
            }
        }
    };
}

/// Implements the constructor, the setters and the traits of an object. Arguments: the members in order, each with its
/// Rust name, its JSON name, and how `new` and the setter take the value: `into` a type, a `copy` of it, or `boxed`.
///
/// A `required` member is an argument of `new`, unless it has a `default`. A `named` member is set through a builder
/// that `new` returns, and `in` names the builder and the step. A `constant` has a value but no field. A `flag` is an
/// optional constant with a `bool` field. The last argument is the field for all other members, or `refuse_other`. A
/// type with a pattern has the pattern, the field for members that match, and the field for the rest instead.
#[doc(hidden)]
#[macro_export]
macro_rules! __object {
    (
        $name:ident $(builder $builder:ident)? $(is_empty $is_empty:tt)?;
        $(
            $(required $r_field:ident $r_wire:tt
                $((into $r_into:ty))? $((copy $r_copy:ty))? $((boxed $r_boxed:ty))?)?
            $(named $n_field:ident $n_wire:tt $((into $n_into:ty))? $((copy $n_copy:ty))?
                in $n_builder:ident $n_step:literal $(then $n_next:literal)?)?
            $(default($default:expr) $d_field:ident $d_wire:tt $(#[$d_attribute:meta])? $d_setter:ident
                $((into $d_into:ty))? $((copy $d_copy:ty))? $((boxed $d_boxed:ty))?)?
            $(optional $o_field:ident $o_wire:tt $(#[$o_attribute:meta])? $o_setter:ident
                $((into $o_into:ty))? $((copy $o_copy:ty))? $((boxed $o_boxed:ty))?)?
            $(constant $c:ident $c_wire:tt = $c_kind:ident $(($($c_value:tt)*))?)?
            $(flag $f_field:ident $f_wire:tt = $f_kind:ident $(($($f_value:tt)*))? $f_getter:ident $f_setter:ident)?,
        )*
        $(..$extra:ident)? $(else $refuse_other:ident)?
        $(matching $pattern:literal $matching:ident $(beside $beside:ident)? $(refused by $refuse_unmatched:ident)?)?
    ) => {
        impl $name {
            #[doc = $crate::codec::constructor_docs!([$($($r_field)?)*] [$($($d_field)?)*])]
            $(#[doc = concat!("The [builder](", stringify!($builder), ") sets those that callers could exchange.")])?
            #[must_use]
            #[allow(clippy::too_many_arguments, reason = "the schema requires them all")]
            #[allow(clippy::new_ret_no_self, clippy::double_must_use, reason = "some constructors return a builder")]
            pub fn new($($(
                $r_field: $(impl ::std::convert::Into<$r_into>)? $($r_copy)? $(impl ::std::convert::Into<$r_boxed>)?,
            )?)*) -> $crate::codec::constructed!(type $name $($builder)?) {
                $crate::codec::constructed!(value $($builder)? Self {
                    $(
                        $($r_field:
                            $(::std::convert::Into::<$r_into>::into($r_field))?
                            $({ let value: $r_copy = $r_field; value })?
                            $(::std::boxed::Box::<$r_boxed>::new($r_field.into()))?,
                        )?
                        $($n_field: ::core::default::Default::default(),)?
                        $($d_field: $default,)?
                        $($o_field: ::core::option::Option::None,)?
                        $($f_field: false,)?
                    )*
                    $($extra: ::core::default::Default::default(),)?
                    $(
                        $matching: ::core::default::Default::default(),
                        $($beside: ::core::default::Default::default(),)?
                    )?
                })
            }
            $(
                $(
                    #[doc = concat!("Sets `", stringify!($d_field), "`.")]
                    $(#[$d_attribute])?
                    #[must_use]
                    pub fn $d_setter(
                        mut self,
                        $d_field: $(impl ::std::convert::Into<$d_into>)?
                            $($d_copy)?
                            $(impl ::std::convert::Into<$d_boxed>)?,
                    ) -> Self {
                        self.$d_field = $(::std::convert::Into::<$d_into>::into($d_field))?
                            $({ let value: $d_copy = $d_field; value })?
                            $(::std::boxed::Box::<$d_boxed>::new($d_field.into()))?;
                        self
                    }
                )?
                $(
                    #[doc = concat!("Sets `", stringify!($o_field), "`.")]
                    $(#[$o_attribute])?
                    #[must_use]
                    pub fn $o_setter(
                        mut self,
                        $o_field: $(impl ::std::convert::Into<$o_into>)?
                            $($o_copy)?
                            $(impl ::std::convert::Into<$o_boxed>)?,
                    ) -> Self {
                        self.$o_field = ::core::option::Option::Some(
                            $(::std::convert::Into::<$o_into>::into($o_field))?
                            $({ let value: $o_copy = $o_field; value })?
                            $(::std::boxed::Box::<$o_boxed>::new($o_field.into()))?
                        );
                        self
                    }
                )?
                $(
                    #[doc = concat!("Whether the constant member `", stringify!($f_field), "` is present.")]
                    #[must_use]
                    pub fn $f_getter(&self) -> bool {
                        self.$f_field
                    }
                    #[doc = concat!("Writes the constant member `", stringify!($f_field), "`, or leaves it out.")]
                    #[must_use]
                    pub fn $f_setter(mut self, present: bool) -> Self {
                        self.$f_field = present;
                        self
                    }
                )?
            )*
        }
        $(
            #[doc = concat!("Creates a [`", stringify!($name), "`], member by member, so that callers cannot exchange them.")]
            #[derive(Clone, Debug)]
            #[must_use]
            pub struct $builder<const STEP: usize>($name);
        )?
        $($(
            impl $n_builder<$n_step> {
                #[doc = concat!("Sets `", stringify!($n_field), "`.")]
                pub fn $n_field(
                    mut self,
                    $n_field: $(impl ::std::convert::Into<$n_into>)? $($n_copy)?,
                ) -> $crate::codec::constructed!(type $name $($n_builder $n_next)?) {
                    self.0.$n_field = $(::std::convert::Into::<$n_into>::into($n_field))? $({ let value: $n_copy = $n_field; value })?;
                    $crate::codec::constructed!(value $($n_builder $n_next)? self.0)
                }
            }
        )?)*
        impl $crate::KnownMembers for $name {
            const MEMBERS: &'static [&'static str] = &[$($($r_wire,)? $($n_wire,)? $($d_wire,)? $($o_wire,)? $($c_wire,)? $($f_wire,)?)*];
            $(fn pattern() -> ::core::option::Option<&'static $crate::codec::Pattern> {
                static PATTERN: $crate::codec::Pattern = $crate::codec::Pattern::new($pattern);
                ::core::option::Option::Some(&PATTERN)
            })?
        }
        impl $crate::codec::Decode for $name {
            const NAME: &'static str = stringify!($name);
            #[inline]
            fn decode(json: $crate::codec::Cursor<'_>) -> $crate::codec::Result<Self> {
                $crate::codec::decode_in_place(json)
            }
        }
        const _: () = {
            $crate::codec::index! { $($($r_field)? $($n_field)? $($d_field)? $($o_field)? $($c)? $($f_field)?)* }
            impl $crate::codec::DecodeInPlace for $name {
                $(const IS_EMPTY: bool = $is_empty;)?
                #[inline]
                fn blank(_unread: $crate::codec::Unread) -> Self {
                    Self {
                        $(
                            $($r_field: $crate::codec::DecodeInPlace::blank(_unread),)?
                            $($n_field: $crate::codec::DecodeInPlace::blank(_unread),)?
                            $($d_field: $crate::codec::DecodeInPlace::blank(_unread),)?
                            $($o_field: ::core::option::Option::None,)?
                            $($f_field: false,)?
                        )*
                        $($extra: ::core::default::Default::default(),)?
                        $(
                            $matching: ::core::default::Default::default(),
                            $($beside: ::core::default::Default::default(),)?
                        )?
                    }
                }
                fn read(
                    &mut self,
                    json: $crate::codec::Cursor<'_>,
                    unread: $crate::codec::Unread,
                ) -> $crate::codec::Result<()> {
                    const TABLE: &$crate::codec::MemberTable = &$crate::codec::MemberTable {
                        names: <$name as $crate::KnownMembers>::MEMBERS,
                        required: &[$(
                            $(__Index::$r_field as usize,)?
                            $(__Index::$n_field as usize,)?
                            $(__Index::$d_field as usize,)?
                            $(__Index::$c as usize,)?
                        )*],
                        constants: &[$($(__Index::$c as usize,)?)*],
                    };
                    json.read_object(TABLE, &mut &mut *self, unread)
                }
            }
            impl $crate::codec::ReadMember for $name {
                #[inline]
                fn read_member(
                    &mut self,
                    index: usize,
                    json: $crate::codec::Cursor<'_>,
                    _unread: $crate::codec::Unread,
                ) -> $crate::codec::Result<()> {
                    match index {
                        $(
                            $(index if index == __Index::$r_field as usize => {
                                $crate::codec::DecodeInPlace::read(&mut self.$r_field, json, _unread)
                            })?
                            $(index if index == __Index::$n_field as usize => {
                                $crate::codec::DecodeInPlace::read(&mut self.$n_field, json, _unread)
                            })?
                            $(index if index == __Index::$d_field as usize => {
                                $crate::codec::DecodeInPlace::read(&mut self.$d_field, json, _unread)
                            })?
                            $(index if index == __Index::$o_field as usize => {
                                $crate::codec::read_optional(json, &mut self.$o_field, _unread)
                            })?
                            $(index if index == __Index::$c as usize => {
                                json.read_constant(&$crate::codec::Literal::$c_kind $(($($c_value)*))?)
                            })?
                            $(index if index == __Index::$f_field as usize => json.read_optional_constant(
                                &$crate::codec::Literal::$f_kind $(($($f_value)*))?,
                                &mut self.$f_field,
                            ),)?
                        )*
                        _ => ::core::result::Result::Ok(()),
                    }
                }
                fn read_other(
                    &mut self,
                    _name: $crate::codec::Cursor<'_>,
                    value: $crate::codec::Cursor<'_>,
                    unread: $crate::codec::Unread,
                ) -> $crate::codec::Result<()> {
                    $($crate::codec::read_other(&mut self.$extra, _name, value, unread))?
                    $($crate::codec::$refuse_other(value, unread))?
                    $(
                        if $crate::codec::is_matching::<Self>(_name, value)? {
                            return $crate::codec::read_other(&mut self.$matching, _name, value, unread);
                        }
                        $($crate::codec::read_other(&mut self.$beside, _name, value, unread))?
                        $($crate::codec::$refuse_unmatched(value, unread))?
                    )?
                }
                fn finish_others(&mut self, _unread: $crate::codec::Unread) {
                    $(self.$extra.finish(_unread);)?
                    $(
                        self.$matching.finish(_unread);
                        $(self.$beside.finish(_unread);)?
                    )?
                }
            }
        };
        impl $crate::codec::Encode for $name {
            fn encode(&self) -> $crate::codec::Node<'_> {
                $crate::codec::Node::Object(self)
            }
        }
        impl $crate::codec::Object for $name {
            fn members(&self, _out: &mut $crate::codec::Members<'_>) {
                $(
                    $(_out.member($r_wire, &self.$r_field);)?
                    $(_out.member($n_wire, &self.$n_field);)?
                    $(_out.member($d_wire, &self.$d_field);)?
                    $(_out.optional($o_wire, &self.$o_field);)?
                    $(_out.constant($c_wire, $crate::codec::Literal::$c_kind $(($($c_value)*))?);)?
                    $(if self.$f_field {
                        _out.constant($f_wire, $crate::codec::Literal::$f_kind $(($($f_value)*))?);
                    })?
                )*
                $(_out.extra(&self.$extra);)?
                $(
                    _out.extra(&self.$matching);
                    $(_out.extra(&self.$beside);)?
                )?
            }
        }
    };
}

/// Implements the constructor, the setters and the traits of an object that is kept as JSON text. Arguments: the
/// members to check, as for `object`.
#[doc(hidden)]
#[macro_export]
macro_rules! __object_text {
    (
        $name:ident;
        $(
            $(optional $o:ident $o_wire:tt $(#[$o_attribute:meta])? $o_setter:ident(into $o_type:ty))?
            $(constant $c:ident $c_wire:tt = $c_kind:ident $(($($c_value:tt)*))?)?,
        )*
    ) => {
        impl $name {
            /// Creates a value without optional members.
            #[must_use]
            pub fn new() -> Self {
                Self($crate::codec::constant_members(&[
                    $($(($c_wire, &$crate::codec::Literal::$c_kind $(($($c_value)*))?),)?)*
                ]))
            }

            $($(
                #[doc = concat!("Sets `", stringify!($o), "`.")]
                $(#[$o_attribute])?
                #[must_use]
                pub fn $o_setter(mut self, $o: impl ::std::convert::Into<$o_type>) -> Self {
                    self.0.insert($o_wire, &::std::convert::Into::<$o_type>::into($o));
                    self
                }
            )?)*

            /// Returns all members.
            #[must_use]
            pub const fn get(&self) -> &$crate::JsonObject {
                &self.0
            }

            /// Returns all members, consuming the value.
            #[must_use]
            pub fn into_inner(self) -> $crate::JsonObject {
                self.0
            }

            /// Sets a member by name.
            ///
            /// # Errors
            ///
            /// Returns an error if the value is not valid for this member.
            pub fn with_member(self, name: &str, value: impl ::std::convert::Into<$crate::Json>) -> $crate::codec::Result<Self> {
                let mut object = self.0;
                object.insert(name, value);
                ::std::convert::TryFrom::try_from(object)
            }
        }
        impl ::std::default::Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }
        impl ::std::convert::TryFrom<$crate::JsonObject> for $name {
            type Error = $crate::Error;
            fn try_from(object: $crate::JsonObject) -> $crate::codec::Result<Self> {
                object.check::<Self>()?;
                ::core::result::Result::Ok(Self(object))
            }
        }
        impl ::std::convert::TryFrom<$crate::Value> for $name {
            type Error = $crate::Error;
            fn try_from(value: $crate::Value) -> $crate::codec::Result<Self> {
                $crate::from_value(value)
            }
        }
        impl ::std::convert::From<$name> for $crate::JsonObject {
            fn from(value: $name) -> Self {
                value.0
            }
        }
        impl $crate::KnownMembers for $name {
            const MEMBERS: &'static [&'static str] = &[$($($o_wire,)? $($c_wire,)?)*];
        }
        impl $crate::codec::Decode for $name {
            const NAME: &'static str = stringify!($name);
            fn decode(json: $crate::codec::Cursor<'_>) -> $crate::codec::Result<Self> {
                Self::check(json)?;
                $crate::codec::Decode::decode(json).map(Self)
            }
            fn check(json: $crate::codec::Cursor<'_>) -> $crate::codec::Result<()> {
                $crate::codec::index! { $($($o)? $($c)?)* }
                const TABLE: &$crate::codec::MemberTable = &$crate::codec::MemberTable {
                    names: <$name as $crate::KnownMembers>::MEMBERS,
                    required: &[$($(__Index::$c as usize,)?)*],
                    constants: &[$($(__Index::$c as usize,)?)*],
                };
                json.check_object(TABLE, |index, json| match index {
                    $(
                        $(index if index == __Index::$o as usize => <$o_type as $crate::codec::Decode>::check(json),)?
                        $(index if index == __Index::$c as usize => {
                            json.read_constant(&$crate::codec::Literal::$c_kind $(($($c_value)*))?)
                        })?
                    )*
                    _ => ::core::result::Result::Ok(()),
                })
            }
        }
        impl $crate::codec::DecodeInPlace for $name {
            #[inline]
            fn blank(unread: $crate::codec::Unread) -> Self {
                Self($crate::codec::DecodeInPlace::blank(unread))
            }
            fn read(&mut self, json: $crate::codec::Cursor<'_>, _: $crate::codec::Unread) -> $crate::codec::Result<()> {
                $crate::codec::replace(self, json)
            }
        }
        impl $crate::codec::Encode for $name {
            fn encode(&self) -> $crate::codec::Node<'_> {
                $crate::codec::Encode::encode(&self.0)
            }
        }
    };
}

/// Implements the traits of a union that is decoded in place. Arguments: the variant of the blank value, the variants
/// with the types that convert into them, and the guards with the variants they select.
#[doc(hidden)]
#[macro_export]
macro_rules! __union {
    (
        $name:ident blank $blank:ident $(is_empty $is_empty:tt)?;
        $(
            $variant:ident
            $(from($from:ty))? $(boxed($boxed:ty))? $(from_ref($borrowed:ty))? $(from_number($number:ty))? $(never $never:tt)?
        ),*;
        $([$($when:tt)*] => $selected:ident),* $(,)?
    ) => {
        $(
            $(impl ::std::convert::From<$from> for $name {
                fn from(value: $from) -> Self {
                    Self::$variant(value)
                }
            })?
            $(impl ::std::convert::From<$boxed> for $name {
                fn from(value: $boxed) -> Self {
                    Self::$variant(::std::boxed::Box::new(value))
                }
            })?
            $(impl ::std::convert::From<$borrowed> for $name {
                fn from(value: $borrowed) -> Self {
                    Self::$variant(value.to_owned())
                }
            })?
            $(impl ::std::convert::From<$number> for $name {
                fn from(value: $number) -> Self {
                    Self::$variant(value.into())
                }
            })?
        )*
        impl $crate::codec::Decode for $name {
            const NAME: &'static str = stringify!($name);
            #[inline]
            fn decode(json: $crate::codec::Cursor<'_>) -> $crate::codec::Result<Self> {
                $crate::codec::decode_in_place(json)
            }
        }
        impl $crate::codec::DecodeInPlace for $name {
            $(const IS_EMPTY: bool = $is_empty;)?
            #[inline]
            fn blank(unread: $crate::codec::Unread) -> Self {
                Self::$blank($crate::codec::DecodeInPlace::blank(unread))
            }
            fn read(
                &mut self,
                json: $crate::codec::Cursor<'_>,
                unread: $crate::codec::Unread,
            ) -> $crate::codec::Result<()> {
                $crate::codec::index! { $($variant)* }
                #[allow(unused_imports, reason = "not every union uses all of these imports")]
                const GUARDS: &[$crate::codec::Guard] = {
                    use $crate::codec::{Condition::*, JsonTypes, Literal::*};
                    &[$($crate::codec::Guard { when: &[$($when)*], variant: __Index::$selected as usize }),*]
                };
                match json.union(GUARDS)? {
                    $(index if index == __Index::$variant as usize => {
                        $(if $never {
                            return ::core::result::Result::Err(json.uninhabited(unread));
                        })?
                        $crate::codec::set(self, Self::$variant($crate::codec::DecodeInPlace::blank(unread)));
                        if let Self::$variant(value) = self {
                            return $crate::codec::DecodeInPlace::read(value, json, unread);
                        }
                    })*
                    _ => {}
                }
                ::core::result::Result::Err(json.no_such_variant())
            }
        }
        impl $crate::codec::Encode for $name {
            fn encode(&self) -> $crate::codec::Node<'_> {
                match self {
                    $(Self::$variant(value) => $crate::codec::Encode::encode(value),)*
                }
            }
        }
    };
}

/// Like `union`, for a union with boxed variants. It is not decoded in place, because that would allocate a box for the
/// blank value and another one for the result.
#[doc(hidden)]
#[macro_export]
macro_rules! __boxed_union {
    (
        $name:ident blank $blank:ident $(is_empty $is_empty:tt)?;
        $(
            $variant:ident
            $(from($from:ty))? $(boxed($boxed:ty))? $(from_ref($borrowed:ty))? $(from_number($number:ty))? $(never $never:tt)?
        ),*;
        $([$($when:tt)*] => $selected:ident),* $(,)?
    ) => {
        $(
            $(impl ::std::convert::From<$from> for $name {
                fn from(value: $from) -> Self {
                    Self::$variant(value)
                }
            })?
            $(impl ::std::convert::From<$boxed> for $name {
                fn from(value: $boxed) -> Self {
                    Self::$variant(::std::boxed::Box::new(value))
                }
            })?
            $(impl ::std::convert::From<$borrowed> for $name {
                fn from(value: $borrowed) -> Self {
                    Self::$variant(value.to_owned())
                }
            })?
            $(impl ::std::convert::From<$number> for $name {
                fn from(value: $number) -> Self {
                    Self::$variant(value.into())
                }
            })?
        )*
        impl $crate::codec::Decode for $name {
            const NAME: &'static str = stringify!($name);
            #[inline]
            fn decode(json: $crate::codec::Cursor<'_>) -> $crate::codec::Result<Self> {
                $crate::codec::index! { $($variant)* }
                #[allow(unused_imports, reason = "not every union uses all of these imports")]
                const GUARDS: &[$crate::codec::Guard] = {
                    use $crate::codec::{Condition::*, JsonTypes, Literal::*};
                    &[$($crate::codec::Guard { when: &[$($when)*], variant: __Index::$selected as usize }),*]
                };
                ::core::result::Result::Ok(match json.union(GUARDS)? {
                    $(index if index == __Index::$variant as usize => {
                        Self::$variant($crate::codec::Decode::decode(json)?)
                    })*
                    _ => return ::core::result::Result::Err(json.no_such_variant()),
                })
            }
        }
        impl $crate::codec::DecodeInPlace for $name {
            $(const IS_EMPTY: bool = $is_empty;)?
            #[inline]
            fn blank(unread: $crate::codec::Unread) -> Self {
                Self::$blank($crate::codec::DecodeInPlace::blank(unread))
            }
            fn read(&mut self, json: $crate::codec::Cursor<'_>, _: $crate::codec::Unread) -> $crate::codec::Result<()> {
                $crate::codec::replace(self, json)
            }
        }
        impl $crate::codec::Encode for $name {
            fn encode(&self) -> $crate::codec::Node<'_> {
                match self {
                    $(Self::$variant(value) => $crate::codec::Encode::encode(value),)*
                }
            }
        }
    };
}

/// Implements the traits of a union of messages. Arguments: method, variant and type of each message.
#[doc(hidden)]
#[macro_export]
macro_rules! __message_set {
    (
        $name:ident blank $blank:ident $(results_are_objects $results_are_objects:tt)?;
        $($method:tt $variant:ident $(from($from:ty))? $(boxed($boxed:ty))? $(never $never:tt)?),* $(,)?
    ) => {
        $(
            $(impl ::std::convert::From<$from> for $name {
                fn from(value: $from) -> Self {
                    Self::$variant(value)
                }
            })?
            $(impl ::std::convert::From<$boxed> for $name {
                fn from(value: $boxed) -> Self {
                    Self::$variant(::std::boxed::Box::new(value))
                }
            })?
        )*
        const _: () = {
            $crate::codec::index! { $($variant)* }
            impl $crate::codec::Decode for $name {
                const NAME: &'static str = stringify!($name);
                fn decode(json: $crate::codec::Cursor<'_>) -> $crate::codec::Result<Self> {
                    $crate::codec::decode_in_place(json)
                }
            }
            impl $crate::codec::DecodeInPlace for $name {
                #[inline]
                fn blank(unread: $crate::codec::Unread) -> Self {
                    Self::$blank($crate::codec::DecodeInPlace::blank(unread))
                }
                fn read(
                    &mut self,
                    json: $crate::codec::Cursor<'_>,
                    unread: $crate::codec::Unread,
                ) -> $crate::codec::Result<()> {
                    const GUARDS: &[$crate::codec::Guard] = &[$($crate::codec::Guard {
                        when: &[$crate::codec::Condition::Value(&["method"], &[$crate::codec::Literal::Str($method)])],
                        variant: __Index::$variant as usize,
                    }),*];
                    $crate::MethodSet::read_method(self, json.union(GUARDS)?, json, unread)
                }
            }
            impl $crate::codec::Encode for $name {
                fn encode(&self) -> $crate::codec::Node<'_> {
                    match self {
                        $(Self::$variant(value) => $crate::codec::Encode::encode(value),)*
                    }
                }
            }
            impl $crate::MethodSet for $name {
                const METHODS: &'static [&'static str] = &[$($method),*];
                $(const RESULTS_ARE_OBJECTS: bool = $results_are_objects;)?

                #[allow(irrefutable_let_patterns, reason = "a set may have only one message")]
                fn read_method(
                    &mut self,
                    index: usize,
                    json: $crate::codec::Cursor<'_>,
                    unread: $crate::codec::Unread,
                ) -> $crate::codec::Result<()> {
                    match index {
                        $(index if index == __Index::$variant as usize => {
                            $(if $never {
                                return ::core::result::Result::Err(json.uninhabited(unread));
                            })?
                            // Unlike `set`, this drops the blank value, which may contain a box.
                            *self = Self::$variant($crate::codec::DecodeInPlace::blank(unread));
                            if let Self::$variant(value) = self {
                                return $crate::codec::DecodeInPlace::read(value, json, unread);
                            }
                        })*
                        _ => {}
                    }
                    ::core::result::Result::Err(json.no_such_variant())
                }
                fn method(&self) -> &'static str {
                    match self {
                        $(Self::$variant(_) => $method,)*
                    }
                }
            }
        };
    };
}

/// Implements what string enums and method enums have in common.
#[doc(hidden)]
#[macro_export]
macro_rules! __string_values {
    ($name:ident; $($variant:ident = $text:tt),* $(,)?) => {
        impl $name {
            /// All values, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            const NAMES: &'static [&'static str] = &[$($text),*];

            /// Returns the value on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                Self::NAMES[self as usize]
            }
        }
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }
        impl ::std::str::FromStr for $name {
            type Err = $crate::Error;
            fn from_str(text: &str) -> $crate::codec::Result<Self> {
                $crate::codec::variant(text, Self::NAMES).map(|index| Self::ALL[index])
            }
        }
    };
}

/// Like `string_values`, for an enum without variants.
#[doc(hidden)]
#[macro_export]
macro_rules! __no_values {
    ($name:ident) => {
        impl $name {
            /// All values. The list is empty.
            pub const ALL: &'static [Self] = &[];

            /// Returns the value on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {}
            }
        }
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }
        impl ::std::str::FromStr for $name {
            type Err = $crate::Error;
            fn from_str(_: &str) -> $crate::codec::Result<Self> {
                ::core::result::Result::Err($crate::Error::new($crate::ErrorKind::Uninhabited))
            }
        }
    };
}

/// Implements the traits of an enum of strings.
#[doc(hidden)]
#[macro_export]
macro_rules! __string_enum {
    ($name:ident; $($variant:ident = $text:tt),* $(,)?) => {
        $crate::codec::string_values! { $name; $($variant = $text),* }
        impl $crate::codec::Decode for $name {
            const NAME: &'static str = stringify!($name);
            fn decode(json: $crate::codec::Cursor<'_>) -> $crate::codec::Result<Self> {
                json.variant(Self::NAMES).map(|index| Self::ALL[index])
            }
        }
        impl $crate::codec::DecodeInPlace for $name {
            #[inline]
            fn blank(_: $crate::codec::Unread) -> Self {
                Self::ALL[0]
            }
            fn read(&mut self, json: $crate::codec::Cursor<'_>, _: $crate::codec::Unread) -> $crate::codec::Result<()> {
                $crate::codec::replace(self, json)
            }
        }
        impl $crate::codec::Encode for $name {
            fn encode(&self) -> $crate::codec::Node<'_> {
                $crate::codec::Node::Str(self.as_str())
            }
        }
    };
}

/// Implements the traits of an enum of constants that are not all strings.
#[doc(hidden)]
#[macro_export]
macro_rules! __literal_enum {
    ($name:ident; $($variant:ident = $kind:ident $(($($value:tt)*))?),* $(,)?) => {
        impl $name {
            /// All values, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            const LITERALS: &'static [$crate::codec::Literal] = &[$($crate::codec::Literal::$kind $(($($value)*))?),*];
        }
        impl $crate::codec::Decode for $name {
            const NAME: &'static str = stringify!($name);
            fn decode(json: $crate::codec::Cursor<'_>) -> $crate::codec::Result<Self> {
                json.literal(Self::LITERALS).map(|index| Self::ALL[index])
            }
        }
        impl $crate::codec::DecodeInPlace for $name {
            #[inline]
            fn blank(_: $crate::codec::Unread) -> Self {
                Self::ALL[0]
            }
            fn read(&mut self, json: $crate::codec::Cursor<'_>, _: $crate::codec::Unread) -> $crate::codec::Result<()> {
                $crate::codec::replace(self, json)
            }
        }
        impl $crate::codec::Encode for $name {
            fn encode(&self) -> $crate::codec::Node<'_> {
                $crate::codec::Encode::encode(&Self::LITERALS[*self as usize])
            }
        }
    };
}

/// Implements the traits of a union without variants.
#[doc(hidden)]
#[macro_export]
macro_rules! __never {
    ($name:ident) => {
        impl $crate::codec::Decode for $name {
            const NAME: &'static str = stringify!($name);
            fn decode(json: $crate::codec::Cursor<'_>) -> $crate::codec::Result<Self> {
                $crate::codec::decode_in_place(json)
            }
        }
        impl $crate::codec::DecodeInPlace for $name {
            const IS_EMPTY: bool = true;
            fn blank(unread: $crate::codec::Unread) -> Self {
                $crate::codec::no_value(unread)
            }
            fn read(&mut self, _: $crate::codec::Cursor<'_>, _: $crate::codec::Unread) -> $crate::codec::Result<()> {
                match *self {}
            }
        }
        impl $crate::codec::Encode for $name {
            fn encode(&self) -> $crate::codec::Node<'_> {
                match *self {}
            }
        }
    };
}

/// Implements the traits of a newtype without limits.
#[doc(hidden)]
#[macro_export]
macro_rules! __newtype {
    ($name:ident($inner:ty) $(is_empty $is_empty:tt)?) => {
        impl ::std::convert::From<$inner> for $name {
            fn from(value: $inner) -> Self {
                Self(value)
            }
        }
        impl $crate::codec::Decode for $name {
            const NAME: &'static str = stringify!($name);
            fn decode(json: $crate::codec::Cursor<'_>) -> $crate::codec::Result<Self> {
                $crate::codec::Decode::decode(json).map(Self)
            }
        }
        impl $crate::codec::DecodeInPlace for $name {
            $(const IS_EMPTY: bool = $is_empty;)?
            #[inline]
            fn blank(unread: $crate::codec::Unread) -> Self {
                Self($crate::codec::DecodeInPlace::blank(unread))
            }
            fn read(&mut self, json: $crate::codec::Cursor<'_>, _: $crate::codec::Unread) -> $crate::codec::Result<()> {
                $crate::codec::replace(self, json)
            }
        }
        impl $crate::codec::Encode for $name {
            fn encode(&self) -> $crate::codec::Node<'_> {
                $crate::codec::Encode::encode(&self.0)
            }
        }
    };
}

/// Implements the traits of a number with limits, which are given as method calls on `Bounds`.
#[doc(hidden)]
#[macro_export]
macro_rules! __bounded_number {
    ($name:ident($inner:ty) $(from $float:ty)?; $($limit:ident($($value:tt)*)),*) => {
        impl $name {
            #[allow(unused_imports, reason = "a number may have no limits")]
            const LIMIT: $crate::codec::Bounds = {
                use $crate::codec::Literal::*;
                $crate::codec::Bounds::ANY$(.$limit($($value)*))*
            };

            /// Returns the value.
            #[must_use]
            pub const fn get(self) -> $inner {
                self.0
            }
        }
        impl ::std::convert::TryFrom<$inner> for $name {
            type Error = $crate::Error;
            fn try_from(value: $inner) -> $crate::codec::Result<Self> {
                Self::LIMIT.check_number(value.into())?;
                ::core::result::Result::Ok(Self(value))
            }
        }
        $(
            impl ::std::convert::TryFrom<$float> for $name {
                type Error = $crate::Error;
                fn try_from(value: $float) -> $crate::codec::Result<Self> {
                    let value = $crate::Number::try_from(value)?;
                    <Self as ::std::convert::TryFrom<$inner>>::try_from(value)
                }
            }
        )?
        $crate::codec::bounded! { $name($inner) }
    };
}

/// Implements the traits of a string or list with a limited length, which is given as method calls on `Length`.
#[doc(hidden)]
#[macro_export]
macro_rules! __bounded_length {
    ($name:ident($inner:ty) $check:ident $(is_empty $is_empty:tt)?; $($limit:ident($value:tt)),*) => {
        impl $name {
            const LIMIT: $crate::codec::Length = $crate::codec::Length::ANY$(.$limit($value))*;

            /// Returns the value.
            #[must_use]
            pub const fn get(&self) -> &$inner {
                &self.0
            }

            /// Returns the inner value.
            #[must_use]
            pub fn into_inner(self) -> $inner {
                self.0
            }
        }
        impl ::std::convert::TryFrom<$inner> for $name {
            type Error = $crate::Error;
            fn try_from(value: $inner) -> $crate::codec::Result<Self> {
                Self::LIMIT.$check(&value)?;
                ::core::result::Result::Ok(Self(value))
            }
        }
        $crate::codec::bounded! { $name($inner) $(is_empty $is_empty)? }
    };
}

/// Implements the additional traits of a string with limits or checks.
#[doc(hidden)]
#[macro_export]
macro_rules! __text {
    ($name:ident) => {
        impl ::std::convert::TryFrom<&str> for $name {
            type Error = $crate::Error;
            fn try_from(value: &str) -> $crate::codec::Result<Self> {
                <Self as ::std::convert::TryFrom<::std::string::String>>::try_from(value.to_owned())
            }
        }
        impl ::std::convert::AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

/// Implements what all types with limits have in common.
#[doc(hidden)]
#[macro_export]
macro_rules! __bounded {
    ($name:ident($inner:ty) $(is_empty $is_empty:tt)?) => {
        impl ::std::convert::From<$name> for $inner {
            fn from(value: $name) -> Self {
                value.0
            }
        }
        impl $crate::codec::Decode for $name {
            const NAME: &'static str = stringify!($name);
            fn decode(json: $crate::codec::Cursor<'_>) -> $crate::codec::Result<Self> {
                let value: $inner = $crate::codec::Decode::decode(json)?;
                <Self as ::std::convert::TryFrom<$inner>>::try_from(value).map_err(|error| json.locate(error))
            }
        }
        impl $crate::codec::DecodeInPlace for $name {
            $(const IS_EMPTY: bool = $is_empty;)?
            #[inline]
            fn blank(unread: $crate::codec::Unread) -> Self {
                Self($crate::codec::DecodeInPlace::blank(unread))
            }
            fn read(&mut self, json: $crate::codec::Cursor<'_>, _: $crate::codec::Unread) -> $crate::codec::Result<()> {
                $crate::codec::replace(self, json)
            }
        }
        impl $crate::codec::Encode for $name {
            fn encode(&self) -> $crate::codec::Node<'_> {
                $crate::codec::Encode::encode(&self.0)
            }
        }
    };
}
