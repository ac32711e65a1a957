//! Errors in a server's definitions, and errors while serving.

use std::error::Error;
use std::io;
use std::sync::Arc;

use mcpgen_runtime::util::error_chain;

use super::request_state::RequestStateError;
use crate::protocol::header_params::HeaderError;

/// An invalid definition of a tool, resource or prompt.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// Another definition has the same name or URI.
    #[error("{kind} {key:?} is defined twice; rename or remove one of them")]
    Duplicate {
        /// The kind of definition, such as `tool`.
        kind: &'static str,
        /// The name or URI.
        key: String,
    },
    /// A tool's name is too long, empty, or has characters that not all clients accept.
    #[error("tool {0:?}: a name must have 1 to 128 characters from A-Z, a-z, 0-9, `_`, `-` and `.`")]
    InvalidName(String),
    /// A tool's arguments are not an object.
    #[error("tool {name:?}: inputSchema must have the type \"object\", found {found}; use a struct for the arguments")]
    NotAnObject {
        /// The tool.
        name: String,
        /// The schema's type.
        found: String,
    },
    /// A schema is invalid or not supported.
    #[error("tool {name:?}: {schema} is invalid or not supported")]
    Schema {
        /// The tool.
        name: String,
        /// `inputSchema` or `outputSchema`.
        schema: &'static str,
        /// The reason.
        source: Arc<dyn Error + Send + Sync>,
    },
    /// An `x-mcp-header` in a tool's `inputSchema` is invalid.
    #[error("tool {name:?}: inputSchema has an invalid x-mcp-header")]
    Header {
        /// The tool.
        name: String,
        /// The reason.
        source: HeaderError,
    },
    /// An extension added something invalid to the server.
    #[error(transparent)]
    Extension(Arc<dyn Error + Send + Sync>),
    /// The URI of a resource is not valid.
    #[error(
        "resource {name:?}: {uri:?} is not a URI; a URI begins with a scheme, as in `file:///notes`, and escapes spaces and \
         other special characters, as in `%20`"
    )]
    Uri {
        /// The name of the resource.
        name: String,
        /// The text given as the URI.
        uri: String,
    },
    /// A completion is for a prompt or resource template that does not exist.
    #[error("the completion of {kind} {key:?}: there is no such {kind}{did_you_mean}; add it to the `ServerBuilder`")]
    UnknownCompletionTarget {
        /// `prompt` or `resource template`.
        kind: &'static str,
        /// The name of the prompt, or the URI template of the resource template.
        key: String,
        /// The suggestion of a similar name. Empty if there is none.
        did_you_mean: String,
    },
    /// A completion is for an argument or variable that does not exist.
    #[error("the completion of {kind} {key:?}: it has no {argument:?}{did_you_mean}")]
    Completion {
        /// `prompt` or `resource template`.
        kind: &'static str,
        /// The name of the prompt, or the URI template of the resource template.
        key: String,
        /// The name of the argument or the variable.
        argument: String,
        /// The suggestion of a similar name. Empty if there is none.
        did_you_mean: String,
    },
    /// A URI template is invalid, or its variables cannot be extracted from a URI.
    #[error("resource template {template:?} is invalid or not supported")]
    Template {
        /// The template.
        template: String,
        /// The reason.
        source: Arc<dyn Error + Send + Sync>,
    },
}

/// Why a server cannot start, or has stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The server has invalid definitions.
    #[error("{}", .0.iter().map(|error| error_chain(error)).collect::<Vec<_>>().join("; "))]
    Definition(Vec<DefinitionError>),
    /// No client could reach the router: it has handlers only for revisions that the local info does not list.
    #[error("the router has handlers only for revision {0}, which `LocalInfo::revisions` does not list; add it")]
    NoRevision(String),
    /// No key for the request state could be generated.
    #[error("no key for the request state; set a codec with `ServerBuilder::request_state`")]
    RequestState(#[source] RequestStateError),
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}
