//! The tables of `docs/concepts/ownership.md`: which fields a controller says that it writes.
//!
//! A section `## controller` has any number of tables; those whose first columns are `resource`, `verb` and `field` are claims. What stands in
//! backticks counts, the rest of a cell is for people. A cell with several of them stands for each. A field covers everything below it, and `*` the
//! whole object. A subresource is written as `machines.machine.openshift.io/status`.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Result, ensure};

use super::touches::Touch;

/// Something that a controller says it writes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim {
    /// Plural, group and subresource, as in `machinesets.machine.openshift.io/status`.
    pub resource: String,
    /// `create`, `update`, `patch` or `delete`.
    pub verb: String,
    /// The field; `*` is all of them.
    pub path: String,
}

impl Claim {
    /// Whether `touch` is what was claimed.
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

/// What `controller` claims in `document`.
pub fn claims(document: &str, controller: &str) -> Result<BTreeSet<Claim>> {
    let heading = format!("## {controller}");
    let section = document.lines().skip_while(|line| *line != heading).skip(1);
    let section = section.take_while(|line| !line.starts_with("## "));
    let mut claims = BTreeSet::new();
    let mut in_table = false;
    for line in section {
        let cells: Vec<_> = line.split('|').map(str::trim).skip(1).collect();
        if cells.is_empty() {
            in_table = false;
        } else if cells.starts_with(&["resource", "verb", "field"]) {
            in_table = true;
        } else if in_table && !cells[0].starts_with("---") {
            let [resources, verbs, paths] = [0, 1, 2].map(|n| values(cells.get(n).unwrap_or(&"")));
            ensure!(
                !resources.is_empty() && !verbs.is_empty() && !paths.is_empty(),
                "a row that says nothing: {line}"
            );
            for (resource, verb, path) in product(&resources, &verbs, &paths) {
                claims.insert(Claim { resource, verb, path });
            }
        }
    }
    ensure!(!claims.is_empty(), "no table of what {controller:?} writes");
    Ok(claims)
}

/// What stands in backticks.
fn values(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

fn product<'a>(
    resources: &'a [&str],
    verbs: &'a [&str],
    paths: &'a [&str],
) -> impl Iterator<Item = (String, String, String)> + 'a {
    resources.iter().flat_map(move |resource| {
        verbs.iter().flat_map(move |verb| {
            let owned =
                move |path: &&str| ((*resource).to_owned(), (*verb).to_owned(), (*path).to_owned());
            paths.iter().map(owned)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "
## other
| resource | verb | field |
|---|---|---|
| `leases` | `update` | `*` |

## annotator
Words.

| who | what |
|---|---|
| `not` | `this` |

| resource | verb | field | why |
|---|---|---|---|
| `sets.x.io` | `patch` | `metadata.annotations[x.io/a]`, `metadata.annotations[x.io/b]` for `nobody` | because |
| `events` | `create` | `*` | |
## last
";

    fn claimed(path: &str) -> Claim {
        Claim { resource: "sets.x.io".to_owned(), verb: "patch".to_owned(), path: path.to_owned() }
    }

    #[test]
    fn rows_of_one_controller_are_read_cell_by_cell() {
        let found = claims(DOCUMENT, "annotator").unwrap();
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        let expected = [
            "create events *",
            "patch sets.x.io metadata.annotations[x.io/a]",
            "patch sets.x.io metadata.annotations[x.io/b]",
            "patch sets.x.io nobody",
        ];
        let mut expected: Vec<_> = expected.into();
        expected.sort_unstable();
        let mut sorted = found.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, expected);
        assert!(claims(DOCUMENT, "nobody").is_err());
        assert!(claims(&DOCUMENT.replace("`create`", "create"), "annotator").is_err());
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
