//! Credentials from a Secret or from the process. Nothing is written to disk or logged.
//!
//! A Secret has either an AWS configuration file under `credentials` (static keys, a session, roles, web identity) or
//! a pair of keys; the file takes precedence.

use std::borrow::Cow;
use std::time::Duration;

use aws_config::default_provider::credentials::DefaultCredentialsChain;
use aws_config::imds;
use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, future};
use aws_runtime::env_config::file::{EnvConfigFileKind, EnvConfigFiles};
use machinist_provider::secret::SecretData;

use crate::messages;
use crate::quiet::quiet;

const FILE: &str = "credentials";
const KEY_ID: &str = "aws_access_key_id";
const KEY: &str = "aws_secret_access_key";
const TOKEN: &str = "aws_session_token";

/// The profile of a Secret's file that is used; `AWS_PROFILE` applies only to the process.
pub(crate) const PROFILE: &str = "default";

/// The metadata service responds within milliseconds or, outside AWS, never.
const METADATA_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct FromSecret {
    pub(crate) provider: SharedCredentialsProvider,
    /// Replaces `~/.aws`, which belongs to the process and not to the Secret.
    pub(crate) files: EnvConfigFiles,
}

pub(crate) fn from_secret(
    data: &SecretData,
    config: &ProviderConfig,
) -> Result<FromSecret, &'static str> {
    if let Some(file) = text(data, FILE)? {
        if lends_our_identity(file) {
            return Err(messages::SECRET_LENDS_IDENTITY);
        }
        let files = in_memory(&unprefixed(file));
        let provider = ProfileFileCredentialsProvider::builder()
            .profile_files(files.clone())
            .profile_name(PROFILE)
            .configure(config)
            .build();
        return Ok(FromSecret { provider: shared(provider), files });
    }
    let (Some(id), Some(key)) = (text(data, KEY_ID)?, text(data, KEY)?) else {
        return Err(messages::SECRET_WITHOUT_CREDENTIALS);
    };
    let token = text(data, TOKEN)?.map(str::to_owned);
    let keys = Credentials::new(id, key, token, None, "Secret");
    Ok(FromSecret { provider: shared(keys), files: in_memory("") })
}

pub(crate) async fn ambient(config: &ProviderConfig) -> SharedCredentialsProvider {
    let metadata = imds::Client::builder()
        .configure(config)
        .max_attempts(1)
        .connect_timeout(METADATA_TIMEOUT)
        .read_timeout(METADATA_TIMEOUT)
        .build();
    let chain = DefaultCredentialsChain::builder().imds_client(metadata).configure(config.clone());
    shared(quiet(chain.build()).await)
}

/// A trimmed value, because shells add a line end before `base64`; an empty value counts as missing.
fn text<'a>(data: &'a SecretData, key: &str) -> Result<Option<&'a str>, &'static str> {
    if data.0.contains_key(key) && data.text(key).is_none() {
        return Err(messages::SECRET_NOT_TEXT);
    }
    Ok(data.text(key).map(str::trim).filter(|value| !value.is_empty()))
}

/// Write access to a Secret must not suffice to send the process's own identity to an endpoint.
fn lends_our_identity(file: &str) -> bool {
    let mut names =
        file.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name.trim());
    let ours = |name: &str| {
        ["web_identity_token_file", "credential_source"]
            .iter()
            .any(|ours| name.eq_ignore_ascii_case(ours))
    };
    names.clone().any(ours) && names.any(|name| name.eq_ignore_ascii_case("endpoint_url"))
}

fn in_memory(contents: &str) -> EnvConfigFiles {
    EnvConfigFiles::builder().with_contents(EnvConfigFileKind::Credentials, contents).build()
}

/// Turns `[profile x]` into `[x]`: users paste config files too, whose form the SDK does not accept here.
fn unprefixed(file: &str) -> String {
    let line = |line: &str| -> String {
        let name = line.trim().strip_prefix('[').and_then(|rest| {
            let (prefix, name) = rest.trim_start().split_once(char::is_whitespace)?;
            (prefix == "profile").then_some(name)
        });
        let line = name.map_or(Cow::Borrowed(line), |name| Cow::Owned(format!("[{}", name.trim())));
        format!("{line}\n")
    };
    file.lines().map(line).collect()
}

fn shared(provider: impl ProvideCredentials + 'static) -> SharedCredentialsProvider {
    SharedCredentialsProvider::new(Quiet(provider))
}

#[derive(Debug)]
struct Quiet<P>(P);

impl<P: ProvideCredentials> ProvideCredentials for Quiet<P> {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(quiet(self.0.provide_credentials()))
    }

    fn fallback_on_interrupt(&self) -> Option<Credentials> {
        self.0.fallback_on_interrupt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn secret(pairs: &[(&str, &str)]) -> SecretData {
        let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), value.as_bytes().to_vec());
        SecretData(pairs.iter().map(pair).collect())
    }

    async fn credentials(data: &SecretData) -> Credentials {
        let made = from_secret(data, &ProviderConfig::without_region()).unwrap();
        assert!(!format!("{made:?}").contains("wJalr"), "{made:?}");
        made.provider.provide_credentials().await.unwrap()
    }

    #[tokio::test]
    async fn trims_line_ends_of_keys() {
        let pair = [(KEY_ID, "AKIA1\n"), (KEY, "wJalr\n"), (TOKEN, "session\n")];
        let found = credentials(&secret(&pair)).await;
        assert_eq!((found.access_key_id(), found.secret_access_key()), ("AKIA1", "wJalr"));
        assert_eq!(found.session_token(), Some("session"));
        assert_eq!(credentials(&secret(&pair[..2])).await.session_token(), None);
    }

    #[tokio::test]
    async fn file_takes_precedence_over_keys() {
        let file = "[other]\naws_access_key_id=AKIA9\naws_secret_access_key=wJalr9\n\
                    [profile default]\naws_access_key_id = AKIA2\naws_secret_access_key = wJalr2\n\
                    aws_session_token = token2\nregion = eu-west-1\n";
        let data = secret(&[(FILE, file), (KEY_ID, "AKIA1"), (KEY, "wJalr1")]);
        let found = credentials(&data).await;
        assert_eq!((found.access_key_id(), found.session_token()), ("AKIA2", Some("token2")));
    }

    #[tokio::test]
    async fn credential_process_is_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join("trace");
        let file = format!("[default]\ncredential_process = touch {}\n", trace.display());
        let made = from_secret(&secret(&[(FILE, &file)]), &ProviderConfig::without_region());
        made.unwrap().provider.provide_credentials().await.unwrap_err();
        assert!(!trace.exists());
    }

    #[test]
    fn invalid_secrets_are_refused_with_a_reason() {
        let config = ProviderConfig::without_region();
        for bad in [&[][..], &[(KEY_ID, "AKIA1")], &[(KEY_ID, "AKIA1"), (KEY, " \n")]] {
            let reason = from_secret(&secret(bad), &config).unwrap_err();
            assert!(reason.contains("aws_secret_access_key"), "{reason}");
        }
        for ours in ["web_identity_token_file = /token", "CREDENTIAL_SOURCE=Environment"] {
            let file = format!("[default]\nrole_arn = r\n{ours}\n[b]\n Endpoint_Url= http://x\n");
            let reason = from_secret(&secret(&[(FILE, &file)]), &config).unwrap_err();
            assert!(reason.contains("endpoint_url"), "{reason}");
            let file = format!("[default]\nrole_arn = r\n{ours}\n# endpoint_url\n");
            assert!(from_secret(&secret(&[(FILE, &file)]), &config).is_ok());
        }
        let binary = SecretData(BTreeMap::from([(FILE.to_owned(), vec![0xff])]));
        assert_eq!(from_secret(&binary, &config).unwrap_err(), messages::SECRET_NOT_TEXT);
    }

    #[test]
    fn removes_profile_prefixes() {
        let file = "[default]\na = [profile x]\n  [profile  b ]\n[sso-session c]\n";
        assert_eq!(unprefixed(file), "[default]\na = [profile x]\n[b ]\n[sso-session c]\n");
    }

    #[test]
    fn fuzz_credentials_files() -> anyhow::Result<()> {
        let file = "[default]\naws_access_key_id = AKIA2\naws_secret_access_key = x\n[profile other]\n\
                    role_arn = arn:aws:iam::1:role\nsource_profile = default\nendpoint_url = http://[::1]\n";
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        machinist_testbed::fuzz::feed(&[file], |bytes| {
            for key in [FILE, KEY] {
                let data = SecretData([(key.to_owned(), bytes.to_vec())].into());
                // A profile may name a role, which would be asked for: reading it is all that is tried.
                drop(
                    runtime
                        .block_on(async { from_secret(&data, &ProviderConfig::without_region()) }),
                );
            }
        })
    }
}
