//! Severity levels of log messages.

#![allow(deprecated, reason = "the newest revision deprecates log messages")]

use mcpgen_types::Json;
use mcpgen_types::v2026_07_28::LoggingLevel;

/// The severity of a log message, as in syslog. Levels are ordered from `Debug` to `Emergency`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are syslog's")]
pub enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl Level {
    const NAMES: [(Self, &'static str); 8] = [
        (Self::Debug, "debug"),
        (Self::Info, "info"),
        (Self::Notice, "notice"),
        (Self::Warning, "warning"),
        (Self::Error, "error"),
        (Self::Critical, "critical"),
        (Self::Alert, "alert"),
        (Self::Emergency, "emergency"),
    ];

    /// Returns the name used in messages, such as `warning`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize].1
    }

    /// Returns the level with this name, or `None` if the name is unknown.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(level, _)| *level)
    }

    /// Returns the level in the params of `logging/setLevel`. Legacy rules reject an invalid one before a handler runs.
    #[must_use]
    pub fn of_params(params: Option<&Json>) -> Option<Self> {
        Self::from_name(&params?.get("level")?.as_str()?)
    }
}

impl From<LoggingLevel> for Level {
    fn from(level: LoggingLevel) -> Self {
        Self::from_name(level.as_str()).unwrap_or(Self::Debug)
    }
}
