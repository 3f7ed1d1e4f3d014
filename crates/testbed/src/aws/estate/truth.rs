use std::collections::BTreeMap;

use anyhow::Result;

use super::Estate;
use crate::aws::front::xml::Element;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceFacts {
    pub id: String,
    pub state: String,
    pub zone: String,
    pub image: String,
    pub subnet: String,
    pub address: String,
    pub tags: BTreeMap<String, String>,
}

impl InstanceFacts {
    /// Whether it costs money.
    pub fn exists(&self) -> bool {
        self.state != "terminated"
    }

    fn read(item: &Element) -> Self {
        Self {
            id: item.text_at(&["instanceId"]),
            state: item.text_at(&["instanceState", "name"]),
            zone: item.text_at(&["placement", "availabilityZone"]),
            image: item.text_at(&["imageId"]),
            subnet: item.text_at(&["subnetId"]),
            address: item.text_at(&["privateIpAddress"]),
            tags: tags(item),
        }
    }
}

impl Estate {
    /// Every instance that was ever made for the cluster.
    pub async fn instances(&self) -> Result<Vec<InstanceFacts>> {
        let owned = self.owned_by_cluster();
        let mut next = String::new();
        let mut found = Vec::new();
        loop {
            let mut question = vec![("MaxResults", "1000")];
            question.extend(owned.iter().map(|(name, value)| (*name, &**value)));
            if !next.is_empty() {
                question.push(("NextToken", &next));
            }
            let answer = self.wire.ec2("DescribeInstances", &question).await?;
            let sets = answer.all("instancesSet");
            let items = sets.iter().flat_map(|set| &set.children);
            found.extend(items.map(InstanceFacts::read));
            next = answer.text_at(&["nextToken"]);
            if next.is_empty() {
                return Ok(found);
            }
        }
    }

    pub async fn live(&self) -> Result<Vec<InstanceFacts>> {
        let mut instances = self.instances().await?;
        instances.retain(InstanceFacts::exists);
        Ok(instances)
    }

    pub async fn volumes(&self) -> Result<Vec<String>> {
        let owned = self.owned_by_cluster();
        let question: Vec<_> = owned.iter().map(|(name, value)| (*name, &**value)).collect();
        let answer = self.wire.ec2("DescribeVolumes", &question).await?;
        let volumes = answer.get("volumeSet").map(|set| &*set.children).unwrap_or_default();
        Ok(volumes.iter().map(|volume| volume.text_at(&["volumeId"])).collect())
    }

    pub async fn hosts(&self) -> Result<Vec<String>> {
        // moto filters hosts by no tag.
        let answer = self.wire.ec2("DescribeHosts", &[]).await?;
        let hosts = answer.get("hostSet").map(|set| &*set.children).unwrap_or_default();
        let ours = hosts.iter().filter(|host| {
            let cluster = tags(host).get(&self.cluster_tag()).is_some_and(|tag| tag == "owned");
            cluster && host.text_at(&["state"]) == "available"
        });
        Ok(ours.map(|host| host.text_at(&["hostId"])).collect())
    }

    /// Its value is `owned`.
    pub fn cluster_tag(&self) -> String {
        format!("kubernetes.io/cluster/{}", self.name)
    }

    fn owned_by_cluster(&self) -> [(&'static str, String); 2] {
        let name = format!("tag:{}", self.cluster_tag());
        [("Filter.1.Name", name), ("Filter.1.Value.1", "owned".to_owned())]
    }
}

fn tags(item: &Element) -> BTreeMap<String, String> {
    let tags = item.get("tagSet").map(|set| &*set.children).unwrap_or_default();
    tags.iter().map(|tag| (tag.text_at(&["key"]), tag.text_at(&["value"]))).collect()
}
