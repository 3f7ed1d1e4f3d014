//! Pages about the controllers: what they are, what they write, what they count.

use std::collections::BTreeMap;

use machinist_api::resource::Resource;
use machinist_controllers::DECLARATIONS;
use machinist_runtime::controller::declaration::{
    Declaration, FREEZE_READS, FREEZE_ROLE_READS, RUNTIME_READS, RUNTIME_ROLE_READS,
    RUNTIME_WRITES, Read, Write,
};
use machinist_runtime::metrics::{Description, Metrics};

use super::{heading, table};

const FROM: &str = "crates/controllers/src/*/declaration.rs";

pub(super) fn files() -> BTreeMap<String, String> {
    let pages =
        [("controllers", controllers()), ("ownership", ownership()), ("metrics", metrics())];
    pages.map(|(name, text)| (format!("docs/reference/{name}.md"), text)).into()
}

fn controllers() -> String {
    let mut text = heading(
        "Controllers",
        FROM,
        "`machinist run --controllers` takes these names. [ownership.md](ownership.md) lists every field that \
         they write, [messages.md](messages.md) every message, [metrics.md](metrics.md) the metrics.",
    );
    text.push_str("\n## Overview\n\n");
    let rows: Vec<_> = DECLARATIONS.iter().map(|one| overview(one)).collect();
    let headings =
        ["controller", "purpose", "waits for", "Lease", "leader election by default", "workers"];
    text.push_str(&table(headings, &rows));
    text.push_str(
        "\n## All controllers\n\nThe runtime adds these requests to those of each controller. ClusterRoles in \
         `deploy` grant them, except where a Role is mentioned ([RBAC](../start/install.md#rbac)).\n\n",
    );
    text.push_str(&requests(RUNTIME_READS.iter().chain(&RUNTIME_ROLE_READS), &RUNTIME_WRITES));
    for one in DECLARATIONS {
        text.extend([format!("\n## {}\n\n{}\n\n", one.name, one.summary)]);
        let freezes = one.obeys_freezes().then(|| FREEZE_READS.iter().chain(&FREEZE_ROLE_READS));
        let reads = one.reads.iter().chain(one.role_reads).chain(freezes.into_iter().flatten());
        text.push_str(&requests(reads, one.writes));
        if !one.conditions.is_empty() {
            let rows: Vec<_> = one
                .conditions
                .iter()
                .map(|(resource, name, text)| {
                    [resource.kind.to_owned(), code(name), (*text).to_owned()]
                })
                .collect();
            text.push('\n');
            text.push_str(&table(["kind", "condition", "meaning"], &rows));
        }
        let reasons: Vec<_> = one.events.iter().map(|reason| code(reason.as_str())).collect();
        text.extend([format!("\nEvent reasons: {}.\n", reasons.join(", "))]);
    }
    text
}

fn overview(one: &Declaration) -> [String; 6] {
    let requires: Vec<_> = one.requires.iter().map(|resource| code(&resource.crd_name())).collect();
    let place = one.lease.custom.namespace.map(|name| format!(" in `{name}`")).unwrap_or_default();
    let time = one.lease.custom.duration.map(|time| format!(", {}s", time.as_secs()));
    [
        code(one.name),
        one.summary.to_owned(),
        requires.join(", "),
        format!("`{}`{place}{}", one.lease_name(), time.unwrap_or_default()),
        if one.lease.required { "yes" } else { "no" }.to_owned(),
        one.workers.to_string(),
    ]
}

/// Verbs by resource.
fn requests<'a>(reads: impl Iterator<Item = &'a Read>, writes: &[Write]) -> String {
    let mut rows: Vec<(String, Vec<&str>, Vec<String>)> = Vec::new();
    let mut add = |resource: String, verbs: &[&'static str], why: String| {
        let at = rows.iter().position(|row| row.0 == resource).unwrap_or_else(|| {
            rows.push((resource, Vec::new(), Vec::new()));
            rows.len() - 1
        });
        let row = &mut rows[at];
        let new = verbs.iter().copied().filter(|verb| !row.1.contains(verb)).collect::<Vec<_>>();
        row.1.extend(new);
        row.2.extend(Some(why).filter(|why| !why.is_empty()));
    };
    for read in reads {
        let names = read.names.iter().map(|name| format!("Only {}. ", code(name)));
        let why = names.collect::<String>() + read.why;
        add(resource(read.resource, read.subresource), read.verbs, why.trim().to_owned());
    }
    for write in writes {
        add(resource(write.resource, write.subresource), &[write.verb], String::new());
    }
    let rows: Vec<_> = rows
        .into_iter()
        .map(|(resource, verbs, why)| [code(&resource), verbs.join(", "), why.join(" ")])
        .collect();
    table(["resource", "verbs", "why"], &rows)
}

fn ownership() -> String {
    let mut text = heading(
        "Fields that machinist writes",
        FROM,
        "Tests run all controllers and compare this list with the audit log of an API server, in both \
         directions. A field stands for everything below it, `*` for the whole object. Preconditions \
         (uid, resourceVersion) are not listed.",
    );
    text.push_str("\n## All controllers\n\n");
    text.push_str(&fields(&RUNTIME_WRITES));
    for one in DECLARATIONS {
        text.extend([format!("\n## {}\n\n{}", one.name, fields(one.writes))]);
    }
    text
}

fn fields(writes: &[Write]) -> String {
    let row = |write: &Write| {
        let fields: Vec<_> = write.fields.iter().map(|field| code(field)).collect();
        [
            code(&resource(write.resource, write.subresource)),
            code(write.verb),
            fields.join(", "),
            write.note.to_owned(),
        ]
    };
    let rows: Vec<_> = writes.iter().map(row).collect();
    table(["resource", "verb", "field", "notes"], &rows)
}

fn metrics() -> String {
    let metrics = Metrics::default();
    machinist::register_metrics(&metrics);
    for one in DECLARATIONS {
        (one.metrics)(&metrics);
    }
    let row = |one: Description| [code(&one.name), one.kind, one.help];
    let rows: Vec<_> = metrics.descriptions().into_iter().map(row).collect();
    let introduction = "Served at `/metrics` (`--metrics-bind-address`) in the OpenMetrics format.";
    let text = heading("Metrics", "the metrics that the controllers register", introduction);
    text + "\n" + &table(["name", "type", "meaning"], &rows)
}

/// `machinesets.machine.openshift.io/status`
fn resource(resource: Resource, subresource: &str) -> String {
    let dot = if resource.group.is_empty() { "" } else { "." };
    let slash = if subresource.is_empty() { "" } else { "/" };
    format!("{}{dot}{}{slash}{subresource}", resource.plural, resource.group)
}

fn code(text: &str) -> String {
    format!("`{text}`")
}
