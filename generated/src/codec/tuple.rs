//! Tuples: arrays with a type for each leading item.

use super::cursor::ElementCursors;
use super::fields::read_items;
use super::{Cursor, DecodeInPlace, Length, Unread};
use crate::Error;

impl<'a> Cursor<'a> {
    /// Returns the elements of an array with at least `size` elements.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not an array, or is too short.
    pub fn open_tuple(self, size: u64) -> Result<ElementCursors<'a>, Error> {
        self.elements_within(Length::ANY.at_least(size))
    }

    /// Returns the elements of an array with exactly `size` elements.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not an array of this length.
    pub fn closed_tuple(self, size: u64) -> Result<ElementCursors<'a>, Error> {
        self.elements_within(Length::ANY.at_least(size).at_most(size))
    }

    fn elements_within(self, length: Length) -> Result<ElementCursors<'a>, Error> {
        let items = self.elements()?;
        length.check_length(items.clone().count(), "items").map_err(|error| self.locate(error))?;
        Ok(items)
    }
}

/// Decodes the next element into a blank value. Does nothing at the end of the array.
pub fn read_item<T: DecodeInPlace>(items: &mut ElementCursors<'_>, value: &mut T, unread: Unread) -> Result<(), Error> {
    items.next().map_or(Ok(()), |item| value.read(item, unread))
}

/// Decodes the remaining elements.
pub fn read_rest<T: DecodeInPlace>(items: ElementCursors<'_>, rest: &mut Vec<T>, unread: Unread) -> Result<(), Error> {
    read_items(items, rest, unread)
}

/// Implements the traits of a tuple. Arguments: the function that checks the size, the size, the index of each field,
/// and the index of the field for the remaining elements.
#[doc(hidden)]
#[macro_export]
macro_rules! __tuple {
    ($name:ident $(is_empty $is_empty:tt)?; $kind:ident $size:tt; $($index:tt),*; $(rest $rest:tt)?) => {
        impl $crate::codec::Decode for $name {
            const NAME: &'static str = stringify!($name);
            fn decode(json: $crate::codec::Cursor<'_>) -> $crate::codec::Result<Self> {
                $crate::codec::decode_in_place(json)
            }
        }
        impl $crate::codec::DecodeInPlace for $name {
            $(const IS_EMPTY: bool = $is_empty;)?
            fn blank(unread: $crate::codec::Unread) -> Self {
                Self {
                    $($index: $crate::codec::DecodeInPlace::blank(unread),)*
                    $($rest: ::std::vec::Vec::new(),)?
                }
            }
            fn read(&mut self, json: $crate::codec::Cursor<'_>, unread: $crate::codec::Unread) -> $crate::codec::Result<()> {
                let mut items = json.$kind($size)?;
                $($crate::codec::read_item(&mut items, &mut self.$index, unread)?;)*
                $($crate::codec::read_rest(items, &mut self.$rest, unread)?;)?
                ::core::result::Result::Ok(())
            }
        }
        impl $crate::codec::Encode for $name {
            fn encode(&self) -> $crate::codec::Node<'_> {
                $crate::codec::Node::Array(self)
            }
        }
        impl $crate::codec::Elements for $name {
            fn len(&self) -> usize {
                $size $(+ self.$rest.len())?
            }
            fn element(&self, index: usize) -> $crate::codec::Node<'_> {
                match index {
                    $($index => $crate::codec::Encode::encode(&self.$index),)*
                    $(_ if index >= $rest => $crate::codec::Encode::encode(&self.$rest[index - $rest]),)?
                    _ => $crate::codec::Node::Null,
                }
            }
        }
    };
}
