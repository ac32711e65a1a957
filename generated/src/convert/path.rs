//! The path of a value during a conversion, without an allocation.

/// The path of a value, from the innermost step outwards.
#[derive(Clone, Copy)]
pub(super) struct Path<'p>(Option<(&'p Path<'p>, Step<'p>)>);

#[derive(Clone, Copy)]
enum Step<'p> {
    Key(&'p str),
    Index(usize),
}

impl<'p> Path<'p> {
    pub(super) const ROOT: Self = Self(None);

    pub(super) fn key(&'p self, name: &'p str) -> Self {
        Self(Some((self, Step::Key(name))))
    }

    pub(super) fn index(&'p self, index: usize) -> Self {
        Self(Some((self, Step::Index(index))))
    }

    /// Returns the path as a JSON Pointer.
    #[cold]
    pub(super) fn pointer(&self) -> String {
        let Some((parent, step)) = self.0 else { return String::new() };
        match step {
            Step::Key(name) => format!("{}/{}", parent.pointer(), name.replace('~', "~0").replace('/', "~1")),
            Step::Index(index) => format!("{}/{index}", parent.pointer()),
        }
    }
}
