//! Credentials from a Secret or from the process. Nothing is written to disk or logged.
//!
//! A Secret has either an AWS configuration file under `credentials` (static keys, a session, roles, web identity) or
//! a pair of keys; the file takes precedence. Roles are assumed at STS, whose endpoint the cluster may set.

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
    sts: Option<&str>,
) -> Result<FromSecret, &'static str> {
    if let Some(file) = text(data, FILE)? {
        let file = unprefixed(file);
        let of_identity =
            if uses_our_identity(&file) { without_endpoints(&file) } else { file.clone() };
        let provider = of_profile(in_memory(&of_identity, sts), config);
        return Ok(FromSecret { provider, files: in_memory(&file, None) });
    }
    let (Some(id), Some(key)) = (text(data, KEY_ID)?, text(data, KEY)?) else {
        return Err(messages::SECRET_WITHOUT_CREDENTIALS);
    };
    let token = text(data, TOKEN)?.map(str::to_owned);
    let keys = Credentials::new(id, key, token, None, "Secret");
    Ok(FromSecret { provider: shared(keys), files: in_memory("", None) })
}

/// Whether the file of a Secret needs STS.
pub(crate) fn assumes_a_role(data: &SecretData) -> bool {
    let file = data.text(FILE).unwrap_or_default();
    names(file).any(|name| name.eq_ignore_ascii_case("role_arn"))
}

/// Whether the process gets its credentials from STS, by variables as EKS and OpenShift set them.
pub(crate) fn process_has_web_identity() -> bool {
    web_identity_of_process().is_some()
}

/// The web identity in the variables of the process, as a configuration file.
fn web_identity_of_process() -> Option<String> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    if variable("AWS_ACCESS_KEY_ID").is_some() {
        return None;
    }
    let (role, token) = (variable("AWS_ROLE_ARN")?, variable("AWS_WEB_IDENTITY_TOKEN_FILE")?);
    let session = variable("AWS_ROLE_SESSION_NAME").unwrap_or_else(|| "machinist".to_owned());
    Some(format!(
        "[default]\nrole_arn = {role}\nweb_identity_token_file = {token}\nrole_session_name = {session}\n"
    ))
}

pub(crate) async fn ambient(
    config: &ProviderConfig,
    sts: Option<&str>,
) -> SharedCredentialsProvider {
    // The SDK's own chain has no way to set the endpoint.
    if let (Some(sts), Some(file)) = (sts, web_identity_of_process()) {
        return of_profile(in_memory(&file, Some(sts)), config);
    }
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

fn names(file: &str) -> impl Iterator<Item = &str> {
    file.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name.trim())
}

/// Whether roles are assumed with what belongs to the process: its token, or its credentials.
fn uses_our_identity(file: &str) -> bool {
    let ours = ["web_identity_token_file", "credential_source"];
    names(file).any(|name| ours.iter().any(|ours| name.eq_ignore_ascii_case(ours)))
}

/// Write access to a Secret must not suffice to send the process's own identity to an endpoint. Calls of services with
/// the resulting credentials may go there: their signatures are of no use elsewhere.
fn without_endpoints(file: &str) -> String {
    let is_endpoint =
        |line: &str| names(line).any(|name| name.eq_ignore_ascii_case("endpoint_url"));
    let lines: Vec<_> = file.lines().filter(|line| !is_endpoint(line)).collect();
    lines.join("\n") + "\n"
}

/// The contents of a file. `endpoint` has precedence over one that they set, because the SDK merges it last.
fn in_memory(contents: &str, endpoint: Option<&str>) -> EnvConfigFiles {
    let files = EnvConfigFiles::builder().with_contents(EnvConfigFileKind::Credentials, contents);
    match endpoint {
        None => files.build(),
        Some(url) => {
            let config = format!("[{PROFILE}]\nendpoint_url = {url}\n");
            files.with_contents(EnvConfigFileKind::Config, config).build()
        }
    }
}

fn of_profile(files: EnvConfigFiles, config: &ProviderConfig) -> SharedCredentialsProvider {
    let provider = ProfileFileCredentialsProvider::builder()
        .profile_files(files)
        .profile_name(PROFILE)
        .configure(config);
    shared(provider.build())
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
        let made = from_secret(data, &ProviderConfig::without_region(), None).unwrap();
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
        let made = from_secret(&secret(&[(FILE, &file)]), &ProviderConfig::without_region(), None);
        made.unwrap().provider.provide_credentials().await.unwrap_err();
        assert!(!trace.exists());
    }

    #[test]
    fn invalid_secrets_are_refused_with_a_reason() {
        let config = ProviderConfig::without_region();
        for bad in [&[][..], &[(KEY_ID, "AKIA1")], &[(KEY_ID, "AKIA1"), (KEY, " \n")]] {
            let reason = from_secret(&secret(bad), &config, None).unwrap_err();
            assert!(reason.contains("aws_secret_access_key"), "{reason}");
        }
        let binary = SecretData(BTreeMap::from([(FILE.to_owned(), vec![0xff])]));
        assert_eq!(from_secret(&binary, &config, None).unwrap_err(), messages::SECRET_NOT_TEXT);
    }

    #[test]
    fn endpoints_of_a_file_do_not_apply_to_the_identity_of_the_process() {
        for ours in ["web_identity_token_file = /token", "CREDENTIAL_SOURCE=Environment"] {
            let file = format!("[default]\nrole_arn = r\n{ours}\n[b]\n Endpoint_Url= http://x\n");
            assert!(uses_our_identity(&file) && assumes_a_role(&secret(&[(FILE, &file)])));
            let expected = format!("[default]\nrole_arn = r\n{ours}\n[b]\n");
            assert_eq!(without_endpoints(&file), expected);
        }
        let keys = "[default]\naws_access_key_id = a\n# role_arn\nendpoint_url = http://x\n";
        assert!(!uses_our_identity(keys) && !assumes_a_role(&secret(&[(FILE, keys)])));
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
                drop(runtime.block_on(async {
                    from_secret(&data, &ProviderConfig::without_region(), None)
                }));
            }
        })
    }
}
