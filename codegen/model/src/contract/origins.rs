//! Records where the parts of a converted schema come from, so that problems point to places in the contract.

use std::collections::BTreeMap;

use mcpgen_schema::Error;

/// JSON pointers in the schema, mapped to places in the contract.
#[derive(Default)]
pub(super) struct Origins(BTreeMap<String, Origin>);

struct Origin {
    pointer: String,
    /// Whether the contents were copied too, so that longer pointers continue in the same way.
    is_copy: bool,
}

impl Origins {
    /// Records a schema that was copied from the contract.
    pub(super) fn add_copy(&mut self, schema: String, contract: impl Into<String>) {
        self.0.insert(schema, Origin { pointer: contract.into(), is_copy: true });
    }

    /// Records a schema that was composed from a part of the contract.
    pub(super) fn add(&mut self, schema: String, contract: impl Into<String>) {
        self.0.insert(schema, Origin { pointer: contract.into(), is_copy: false });
    }

    /// Makes problems in a file point to places in the contract.
    pub(super) fn restore(&self, file: &str, error: Error) -> Error {
        let Error::Schema(mut problems) = error else { return error };
        for problem in problems.iter_mut().filter(|problem| problem.file == file) {
            if let Some(pointer) = self.find(&problem.pointer) {
                problem.pointer = pointer;
            }
        }
        Error::Schema(problems)
    }

    /// Returns the origin of a place, or of the nearest one around it.
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
