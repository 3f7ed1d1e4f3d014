//! The moto process: emptied on request, gone with its owner.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use machinist_control_plane::children;
use machinist_testbed::aws::{AwsBed, Behaviour, Effect, Rule};
use rustix::process::{Pid, test_kill_process};
use tokio::time::{sleep, timeout};

use crate::aws_front::client::Client;

fn is_alive(process_id: u32) -> bool {
    let pid = Pid::from_raw(i32::try_from(process_id).unwrap()).unwrap();
    test_kill_process(pid).is_ok()
}

#[tokio::test]
async fn a_reset_empties_moto_and_the_front_and_a_drop_ends_moto() {
    let bed = AwsBed::start().await.unwrap();
    let client = Client::new(&bed, "us-east-1");
    let token = [("ClientToken", "a")];
    let first = client.run(&token).await.instance();
    bed.front().inject(Rule::every("RunInstances", Effect::Throttle));
    bed.front().behave(Behaviour { hidden_for: Duration::from_mins(1), ..Behaviour::default() });

    bed.reset().await.unwrap();
    assert!(bed.front().calls().is_empty());
    assert_eq!(client.instances().await, [""; 0]);
    let second = client.run(&token).await.instance();
    assert_ne!(first, second);
    assert_eq!(client.instances().await, [second]);

    let process_id = bed.moto().process_id();
    assert!(is_alive(process_id));
    drop(bed);
    assert!(!is_alive(process_id));
}

#[tokio::test]
async fn killing_the_owner_leaves_no_moto() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aws-bed"));
    children::bind(command.stdout(Stdio::piped())).unwrap();
    let mut owner = command.spawn().unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let process_id = lines
        .map(Result::unwrap)
        .find_map(|line| line.strip_prefix("MOTO_PROCESS_ID=")?.parse().ok())
        .expect("the owner must say which process its moto is");
    assert!(is_alive(process_id));

    owner.kill().unwrap();
    owner.wait().unwrap();
    let gone = async {
        while is_alive(process_id) {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let gone = timeout(Duration::from_secs(30), gone).await;
    gone.expect("moto outlived its owner");
}
