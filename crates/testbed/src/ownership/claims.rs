use std::collections::BTreeSet;
use std::fmt;

use machinist_runtime::controller::declaration::{Declaration, RUNTIME_WRITES, Write};

use super::touches::Touch;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim {
    /// As in `machinesets.machine.openshift.io/status`.
    pub resource: String,
    pub verb: String,
    /// `*` is all fields.
    pub path: String,
}

impl Claim {
    pub fn covers(&self, touch: &Touch) -> bool {
        let below = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
        (&self.resource, &self.verb) == (&touch.resource, &touch.verb)
            && (self.path == "*" || touch.path.strip_prefix(&self.path).is_some_and(below))
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.verb, self.resource, self.path)
    }
}

pub fn claims(declaration: &Declaration) -> BTreeSet<Claim> {
    let claim = |write: &Write, path: &str| {
        let Write { resource, subresource, verb, .. } = write;
        let dot = if resource.group.is_empty() { "" } else { "." };
        let slash = if subresource.is_empty() { "" } else { "/" };
        Claim {
            resource: format!("{}{dot}{}{slash}{subresource}", resource.plural, resource.group),
            verb: (*verb).to_owned(),
            path: path.to_owned(),
        }
    };
    let writes = declaration.writes.iter().chain(&RUNTIME_WRITES);
    writes.flat_map(|write| write.fields.iter().map(move |path| claim(write, path))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimed(path: &str) -> Claim {
        Claim { resource: "sets.x.io".to_owned(), verb: "patch".to_owned(), path: path.to_owned() }
    }

    #[test]
    fn every_controller_claims_its_lease() {
        let found = claims(&Declaration::new("toy"));
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert!(found.contains(&"update leases.coordination.k8s.io spec".to_owned()), "{found:?}");
    }

    #[test]
    fn a_field_covers_what_is_below_it_and_nothing_beside_it() {
        let touch = |path: &str| Touch {
            resource: "sets.x.io".to_owned(),
            verb: "patch".to_owned(),
            path: path.to_owned(),
        };
        assert!(claimed("spec").covers(&touch("spec.replicas")));
        assert!(claimed("spec.list").covers(&touch("spec.list[a]")));
        assert!(claimed("*").covers(&touch("spec")));
        assert!(!claimed("spec.a").covers(&touch("spec.ab")));
        assert!(!claimed("spec.a").covers(&touch("spec")));
        assert!(!claimed("spec").covers(&Touch { verb: "update".to_owned(), ..touch("spec") }));
    }
}
