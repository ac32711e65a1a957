//! Sets of JSON types.

/// A set of JSON types. Integers and fractions count as different types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JsonTypes(u8);

impl JsonTypes {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// `null`
    pub const NULL: Self = Self(1);
    /// `true` and `false`
    pub const BOOLEAN: Self = Self(1 << 1);
    /// Numbers with an integral value, such as `1` and `1.0`.
    pub const INTEGER: Self = Self(1 << 2);
    /// All other numbers.
    pub const FRACTION: Self = Self(1 << 3);
    /// Strings.
    pub const STRING: Self = Self(1 << 4);
    /// Arrays.
    pub const ARRAY: Self = Self(1 << 5);
    /// Objects.
    pub const OBJECT: Self = Self(1 << 6);
    /// All numbers.
    pub const NUMBER: Self = Self::INTEGER.union(Self::FRACTION);
    /// All types.
    pub const ALL: Self = Self((1 << 7) - 1);

    /// Returns the types in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the types in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns whether all types of `other` are in this set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Describes the set for a message, such as `integer or null`.
    #[must_use]
    pub fn words(self) -> String {
        let number =
            if self.contains(Self::FRACTION) { (Self::FRACTION, "number") } else { (Self::INTEGER, "integer") };
        let names = [
            (Self::NULL, "null"),
            (Self::BOOLEAN, "boolean"),
            number,
            (Self::STRING, "string"),
            (Self::ARRAY, "array"),
            (Self::OBJECT, "object"),
        ];
        let names = names.iter().filter(|(types, _)| self.contains(*types)).map(|(_, name)| *name);
        names.collect::<Vec<_>>().join(" or ")
    }
}
