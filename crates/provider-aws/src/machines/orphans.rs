//! Lists the instances of a cluster by its tag, and deletes one of them that no Machine needs. Its load balancer
//! targets and its dedicated host are not looked for: they need the provider spec of its Machine.

use machinist_aws_spec::provider_id::is_instance_id;
use machinist_provider::cloud::ownership::{Ownership, TAG_CLUSTER};
use machinist_provider::cloud::{CloudError, Deletion, ErrorClass, InstanceState, Owned, Reach};

use crate::machines::Ec2Machines;
use crate::machines::calls::filter;
use crate::machines::describe::ec2_instance::Ec2Instance;
use crate::machines::describe::instance;
use crate::machines::errors::{is_missing, no_effect};
use crate::messages;

impl Ec2Machines {
    pub(crate) async fn list_now(&self, within: &Reach) -> Result<Vec<Owned>, CloudError> {
        let ec2 = self.client(&within.access).await?;
        let filters = vec![filter(format!("tag:{TAG_CLUSTER}"), [&*within.cluster])];
        let found = ec2.instances(filters).await;
        let found = found.map_err(|error| ec2.classify(&error))?;
        Ok(found.iter().filter_map(|found| owned(found, within)).collect())
    }

    pub(crate) async fn delete_orphan_now(
        &self,
        within: &Reach,
        orphan: &Owned,
    ) -> Result<Deletion, CloudError> {
        let id = &*orphan.instance.id;
        let changed = || no_effect(ErrorClass::Conflict, messages::owner_changed(id));
        // EC2 filters accept wildcards.
        if !is_instance_id(id) {
            return Err(changed());
        }
        let ec2 = self.client(&within.access).await?;
        let found = ec2.instances(vec![filter("instance-id", [id])]).await;
        let found = found.map_err(|error| ec2.classify(&error))?;
        let Some(found) = found.into_iter().find(|found| found.id == id) else {
            return Ok(Deletion::Gone);
        };
        match found.state() {
            InstanceState::Terminated => return Ok(Deletion::Gone),
            InstanceState::Terminating => {
                return Ok(Deletion::UnderWay(messages::instance_state(id, &found.state)));
            }
            InstanceState::Pending | InstanceState::Running | InstanceState::Stopped => {}
        }
        let current = owned(&found, within);
        if current.is_none_or(|current| current.machine_uid != orphan.machine_uid) {
            return Err(changed());
        }
        let ids = vec![found.id];
        match ec2.terminate(ids.clone()).await {
            // The next call decides.
            Err(error) if !is_missing(&error) => Err(ec2.classify(&error)),
            _ => Ok(Deletion::UnderWay(messages::terminating(&ids))),
        }
    }
}

/// `None` without the tags of this cluster, or if the instance is terminated.
fn owned(found: &Ec2Instance, within: &Reach) -> Option<Owned> {
    let Ownership { cluster, machine_uid } = Ownership::read(|tag| found.tag(tag))?;
    (cluster == within.cluster && found.exists()).then(|| Owned {
        attempt: Ownership::attempt(&found.token, &machine_uid),
        machine_uid,
        tags: found.tags.clone(),
        instance: instance::instance(found, None, &within.access.region, &[]),
        created: found.launched,
    })
}
