//! Facts about MCP's methods.

use crate::Revision;
use crate::codec::find_by;

/// What the schema of a revision says about a method. See [`Revision::method`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MethodSpec {
    /// The method's name.
    pub method: &'static str,
    /// Whether this is a request. Otherwise it is a notification.
    pub is_request: bool,
    /// Whether clients may send it.
    pub sent_by_client: bool,
    /// Whether servers may send it. A request that neither clients nor servers may send appears only inside results,
    /// as an input request.
    pub sent_by_server: bool,
    /// The path of the required capability, such as `["resources", "subscribe"]`. Empty if no capability is required.
    /// The receiver of a request declares the capability; for a notification, its sender does.
    pub capability: &'static [&'static str],
    /// The field of `params` that names the target, such as the tool.
    pub subject: Option<&'static str>,
    /// Whether the request can run as a task.
    pub may_run_as_task: bool,
    /// Whether the result has a cache hint.
    pub cacheable: bool,
    /// Whether the result may be an `InputRequiredResult`.
    pub may_require_input: bool,
    /// The paths of free-form JSON in the params, such as `["arguments"]`. `"*"` stands for every element of an array.
    pub free_form_params: &'static [&'static [&'static str]],
    /// The paths of free-form JSON in the result, such as `["tools", "*", "inputSchema"]`.
    pub free_form_result: &'static [&'static [&'static str]],
}

impl MethodSpec {
    /// Returns the facts about a method in the newest revision that defines it.
    #[must_use]
    pub fn newest(method: &str) -> Option<&'static Self> {
        Revision::ALL.iter().rev().find_map(|revision| revision.method(method))
    }

    pub(crate) const fn notification(method: &'static str) -> Self {
        Self {
            method,
            is_request: false,
            sent_by_client: false,
            sent_by_server: false,
            capability: &[],
            subject: None,
            may_run_as_task: false,
            cacheable: false,
            may_require_input: false,
            free_form_params: &[],
            free_form_result: &[],
        }
    }

    pub(crate) const fn request(method: &'static str) -> Self {
        Self { is_request: true, ..Self::notification(method) }
    }
}

#[derive(Debug)]
pub(crate) struct MethodTable {
    /// Sorted by the length of the method.
    pub(crate) specs: &'static [MethodSpec],
    /// The index of the first method that is at least this long, for each length.
    starts: [u16; LENGTHS + 1],
}

/// The number of lengths in [`MethodTable::starts`]. Methods of `LENGTHS - 1` bytes and more share the last one.
const LENGTHS: usize = 64;

impl MethodTable {
    /// `specs` must be sorted by the length of the method.
    pub(crate) const fn new(specs: &'static [MethodSpec]) -> Self {
        let mut starts = [specs.len() as u16; LENGTHS + 1];
        let (mut length, mut index) = (0, 0);
        while length < LENGTHS {
            while index < specs.len() && specs[index].method.len() < length {
                index += 1;
            }
            starts[length] = index as u16;
            length += 1;
        }
        Self { specs, starts }
    }

    pub(crate) fn get(&self, method: &str) -> Option<&'static MethodSpec> {
        let length = method.len().min(LENGTHS - 1);
        let (start, end) = (self.starts[length], self.starts[length + 1]);
        let specs = self.specs.get(usize::from(start)..usize::from(end))?;
        specs.get(find_by(specs, 0, method.as_bytes(), |spec| spec.method))
    }
}
