//! Obtains an access token for `--login`.

use std::fs;
use std::sync::Arc;

use directories::ProjectDirs;
use mcpgen_auth::client::{Grant, Loopback, OAuthClient, OAuthOptions};
use mcpgen_auth::store::FileStore;
use mcpgen_sdk::http::client::Authorize;

use crate::failure::{Failure, with_sources};
use crate::output::Activity;

/// Authorizes requests to a server. A login starts when the server requires one.
pub(crate) fn authorization(url: &str, activity: &Activity) -> Result<Arc<dyn Authorize>, Failure> {
    let activity = activity.clone();
    let user_agent = Loopback::new(move |url| {
        activity.print(&format!("Open this page to log in:\n{url}"));
        activity.message("waiting for the login");
        Ok(())
    });
    let mut options = OAuthOptions::new("mcpgen-probe", Grant::AuthorizationCode(Arc::new(user_agent)));
    let folders = ProjectDirs::from("", "", "mcpgen-probe")
        .ok_or_else(|| Failure::Usage("there is no home directory to store tokens in; set HOME".to_owned()))?;
    let folder = folders.data_local_dir();
    fs::create_dir_all(folder).map_err(Failure::io(format!("creating {}", folder.display())))?;
    options.store = Arc::new(FileStore::new(folder.join("credentials.json")));
    let client = OAuthClient::new(url, options).map_err(|error| Failure::connect(url, &with_sources(&error)))?;
    Ok(Arc::new(client))
}
