//! Open enums: strings with known values that also accept any other string.

/// Implements the traits of an open enum, whose variant `Other` holds unknown strings.
#[doc(hidden)]
#[macro_export]
macro_rules! __open_enum {
    ($name:ident; $($variant:ident = $text:tt),* $(,)?) => {
        impl $name {
            /// The known values, in declaration order.
            pub const KNOWN: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the string as it appears in JSON.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(text) => text,
                }
            }
        }
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }
        impl ::std::convert::From<::std::string::String> for $name {
            fn from(text: ::std::string::String) -> Self {
                match text.as_str() {
                    $($text => Self::$variant,)*
                    _ => Self::Other(text),
                }
            }
        }
        impl ::std::convert::From<&str> for $name {
            fn from(text: &str) -> Self {
                ::std::convert::From::from(text.to_owned())
            }
        }
        impl $crate::codec::Decode for $name {
            const NAME: &'static str = stringify!($name);
            fn decode(json: $crate::codec::Cursor<'_>) -> $crate::codec::Result<Self> {
                json.string().map(::std::convert::From::from)
            }
        }
        impl $crate::codec::DecodeInPlace for $name {
            #[inline]
            fn blank(_: $crate::codec::Unread) -> Self {
                Self::Other(::std::string::String::new())
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
