//! Paths to the current value that need no allocation.

/// A path as a linked list. The innermost step comes first.
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

    /// Returns the name of the innermost member around the value.
    pub(super) fn name(&self) -> Option<&'p str> {
        match self.0? {
            (_, Step::Key(name)) => Some(name),
            (parent, Step::Index(_)) => parent.name(),
        }
    }

    #[cold]
    pub(super) fn pointer(&self) -> String {
        let mut pointer = String::with_capacity(64);
        self.write(&mut pointer);
        pointer
    }

    fn write(&self, pointer: &mut String) {
        let Some((parent, step)) = self.0 else { return };
        parent.write(pointer);
        pointer.push('/');
        match step {
            Step::Key(name) if name.contains(['~', '/']) => {
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
            }
            Step::Key(name) => pointer.push_str(name),
            Step::Index(index) => pointer.push_str(&index.to_string()),
        }
    }
}
