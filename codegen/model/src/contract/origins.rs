//! Where the parts of a schema come from that was converted from another kind of contract.

use std::collections::BTreeMap;

use mcpgen_schema::Error;

/// JSON pointers in the schema, and the places in the contract that they come from.
#[derive(Default)]
pub(super) struct Origins(BTreeMap<String, Origin>);

struct Origin {
    pointer: String,
    /// Whether everything below the place was copied, so that pointers continue in the same way.
    is_copy: bool,
}

impl Origins {
    /// Adds a schema that is a copy of one in the contract.
    pub(super) fn add_copy(&mut self, schema: String, contract: impl Into<String>) {
        self.0.insert(schema, Origin { pointer: contract.into(), is_copy: true });
    }

    /// Adds a schema that was composed from a part of the contract.
    pub(super) fn add(&mut self, schema: String, contract: impl Into<String>) {
        self.0.insert(schema, Origin { pointer: contract.into(), is_copy: false });
    }

    /// Makes the problems of a file refer to the contract instead of the schema.
    pub(super) fn restore(&self, file: &str, error: Error) -> Error {
        let Error::Schema(mut problems) = error else { return error };
        for problem in problems.iter_mut().filter(|problem| problem.file == file) {
            if let Some(pointer) = self.find(&problem.pointer) {
                problem.pointer = pointer;
            }
        }
        Error::Schema(problems)
    }

    /// Returns the origin of a place, or of the nearest place around it.
    fn find(&self, pointer: &str) -> Option<String> {
        let mut end = pointer.len();
        loop {
            let (around, rest) = pointer.split_at(end);
            if let Some(Origin { pointer, is_copy }) = self.0.get(around) {
                return Some(if *is_copy { format!("{pointer}{rest}") } else { pointer.clone() });
            }
            end = around.rfind('/')?;
        }
    }
}
