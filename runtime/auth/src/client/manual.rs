//! A user agent for machines without a browser: the user opens the URL elsewhere, and pastes the result.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tower::BoxError;
use url::Url;

use super::user_agent::{AuthorizationRequest, PendingLogin, UserAgent};

/// Shows the authorization URL, and asks the user to paste the URL that the browser ends up at.
///
/// ```no_run
/// use std::io::{BufRead, stdin};
/// use mcpgen_auth::client::Manual;
///
/// let user_agent = Manual::new("http://127.0.0.1:1/callback", |url| {
///     println!("Open {url}\nThen paste the address of the page that cannot be shown:");
///     let mut line = String::new();
///     stdin().lock().read_line(&mut line)?;
///     Ok(line)
/// });
/// ```
#[derive(Clone)]
pub struct Manual {
    redirect_uri: String,
    ask: Arc<Ask>,
}

type Ask = dyn Fn(&Url) -> Result<String, BoxError> + Send + Sync;

impl Manual {
    /// Creates a user agent. `ask` runs on a blocking thread; it shows the URL and returns the pasted one.
    pub fn new(
        redirect_uri: impl Into<String>,
        ask: impl Fn(&Url) -> Result<String, BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self { redirect_uri: redirect_uri.into(), ask: Arc::new(ask) }
    }
}

impl UserAgent for Manual {
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn PendingLogin>, BoxError>> {
        Box::pin(std::future::ready(Ok(Box::new(self.clone()) as Box<dyn PendingLogin>)))
    }
}

impl PendingLogin for Manual {
    fn redirect_uri(&self) -> String {
        self.redirect_uri.clone()
    }

    fn log_in(self: Box<Self>, request: AuthorizationRequest) -> BoxFuture<'static, Result<Url, BoxError>> {
        Box::pin(async move {
            let pasted = tokio::task::spawn_blocking(move || (self.ask)(request.url())).await??;
            // Do not show the text, which contains the code.
            pasted.trim().parse().map_err(|_| "the pasted text is not a URL; paste the whole address".into())
        })
    }
}

impl fmt::Debug for Manual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manual").field("redirect_uri", &self.redirect_uri).finish_non_exhaustive()
    }
}
