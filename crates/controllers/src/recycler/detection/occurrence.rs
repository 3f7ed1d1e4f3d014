//! Occurrences of Events. Open ones are stored as text: `29500000:3:p:ns/name:1f:node` or `29500000:3:n:node`.

use std::fmt;
use std::sync::Arc;

use machinist_domain::hash::fnv1a;

use super::window::Minute;
use crate::kinds::Involved;

const NOTHING: &str = "-";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    pub minute: Minute,
    pub times: u32,
    pub involved: Involved,
    /// The host of the reporting component.
    pub host: Option<Arc<str>>,
}

impl Occurrence {
    /// Whether both differ in their number at most.
    pub fn is_same(&self, other: &Self) -> bool {
        self.minute == other.minute && self.involved == other.involved && self.host == other.host
    }

    /// A hash of the pod, or of the node without one.
    pub fn subject(&self) -> u32 {
        match &self.involved {
            Involved::Pod { uid: Some(uid), .. } => short(&uid.to_be_bytes()),
            Involved::Pod { namespace, name, uid: None } => {
                short(format!("{namespace}/{name}").as_bytes())
            }
            Involved::Node(name) => subject_of_node(name),
        }
    }

    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut fields = text.split(':');
        let (minute, times) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let (involved, host) = match fields.next()? {
            "p" => {
                let (namespace, name) = fields.next()?.split_once('/')?;
                let uid = match fields.next()? {
                    NOTHING => None,
                    hash => Some(u64::from_str_radix(hash, 16).ok()?),
                };
                let host = Some(fields.next()?).filter(|host| *host != NOTHING);
                let (namespace, name) = (namespace.into(), name.into());
                (Involved::Pod { namespace, name, uid }, host.map(Arc::from))
            }
            "n" => (Involved::Node(fields.next()?.into()), None),
            _ => return None,
        };
        fields.next().is_none().then_some(Self { minute, times, involved, host })
    }
}

pub(crate) fn subject_of_node(name: &str) -> u32 {
    short(name.as_bytes())
}

fn short(bytes: &[u8]) -> u32 {
    let hash = fnv1a(bytes);
    u32::try_from((hash ^ (hash >> 32)) & u64::from(u32::MAX)).unwrap_or_default()
}

impl fmt::Display for Occurrence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:", self.minute, self.times)?;
        match &self.involved {
            Involved::Pod { namespace, name, uid } => {
                write!(f, "p:{namespace}/{name}:")?;
                match uid {
                    Some(uid) => write!(f, "{uid:x}:")?,
                    None => write!(f, "{NOTHING}:")?,
                }
                f.write_str(self.host.as_deref().unwrap_or(NOTHING))
            }
            Involved::Node(name) => write!(f, "n:{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(uid: Option<u64>, host: Option<&str>) -> Occurrence {
        let involved = Involved::Pod { namespace: "ns".into(), name: "p-1".into(), uid };
        Occurrence { minute: 29_500_000, times: 3, involved, host: host.map(Arc::from) }
    }

    #[test]
    fn stored_occurrences_are_read_back() {
        let node = Occurrence { involved: Involved::Node("n1".into()), ..pod(None, None) };
        for one in [pod(Some(31), Some("ip-10-0-0-1.internal")), pod(None, None), node] {
            assert_eq!(Occurrence::read(&one.to_string()), Some(one));
        }
        assert_eq!(pod(Some(31), Some("n")).to_string(), "29500000:3:p:ns/p-1:1f:n");
    }

    #[test]
    fn invalid_texts_are_rejected() {
        for text in [
            "",
            "1",
            "1:2",
            "1:2:x:y",
            "1:2:n",
            "1:2:p:a/b",
            "1:2:p:ab:1:n",
            "1:2:n:a:b",
            "x:2:n:a",
        ] {
            assert_eq!(Occurrence::read(text), None, "{text}");
        }
    }

    #[test]
    fn pods_are_distinguished_by_uid() {
        assert_ne!(pod(Some(1), None).subject(), pod(Some(2), None).subject());
        assert_eq!(pod(Some(1), None).subject(), pod(Some(1), Some("n")).subject());
    }
}
