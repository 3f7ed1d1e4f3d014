//! What goes wrong, by a seed.

use std::fmt;
use std::time::Duration;

use anyhow::Result;
use machinist_provider_sim::server::{Modes, Trouble};
use machinist_testbed::faults::{Effect, Match, Rule, Verb};

use crate::fleet::{Fleet, LEASE};

#[derive(Debug)]
pub(crate) struct Troubles {
    dice: fastrand::Rng,
    machines: usize,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    scalings: u32,
    deletions: usize,
    faults: u32,
    weathers: u32,
    cut_off: u32,
    killed: u32,
}

impl fmt::Display for Troubles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { scalings, deletions, faults, weathers, cut_off, killed } = self.counts;
        write!(f, "{scalings} scalings, {deletions} deletions, {faults} faults of the API, ")?;
        write!(f, "{weathers} of the cloud, {cut_off} leaders cut off, {killed} killed")
    }
}

impl Troubles {
    pub(crate) fn new(seed: u64, machines: usize) -> Self {
        Self { dice: fastrand::Rng::with_seed(seed), machines, counts: Counts::default() }
    }

    /// The next one, and a while without another.
    pub(crate) async fn next(&mut self, fleet: &mut Fleet) -> Result<()> {
        match self.dice.u32(0..20) {
            0..=4 => {
                // Mostly near the full size, now and then far below it.
                let least = if self.dice.u32(0..6) == 0 {
                    self.machines / 2
                } else {
                    self.machines * 4 / 5
                };
                fleet.scale(self.dice.usize(least..=self.machines)).await?;
                self.counts.scalings += 1;
            }
            5..=8 => {
                let count = self.dice.usize(1..=self.machines.div_ceil(50));
                fleet.delete_some(&mut self.dice, count).await?;
                self.counts.deletions += count;
            }
            9..=14 => self.disturb(fleet),
            15..=17 => self.change_weather(fleet),
            18 => self.cut_off(fleet).await?,
            _ => {
                fleet.kill_the_third().await?;
                self.counts.killed += 1;
            }
        }
        tokio::time::sleep(Duration::from_millis(self.dice.u64(200..4000))).await;
        Ok(())
    }

    fn disturb(&mut self, fleet: &Fleet) {
        let rule = self.rule();
        if let Some(replica) = self.dice.choice(&fleet.replicas) {
            // Those of before have had their time.
            replica.proxy.clear_rules();
            let late = matches!(rule.effect, Effect::DelayEvents(_));
            replica.proxy.add_rule(rule);
            if late || self.dice.bool() {
                replica.proxy.cut_connections();
            }
            self.counts.faults += 1;
        }
    }

    fn rule(&mut self) -> Rule {
        let code = self.dice.choice([409, 429, 500, 503]).unwrap_or(500);
        let (after, times) = (self.dice.u32(0..50), self.dice.u32(1..20));
        let writes = || Match::writes().except("leases");
        let reads = || Match::any().verbs([Verb::Get, Verb::List, Verb::Watch]).except("leases");
        let rule = match self.dice.u32(0..6) {
            0 => Rule::new(writes(), Effect::LoseAnswer),
            // The words of the cloud are its own.
            1 => Rule::new(writes().that(|request| request.group != "sim"), Effect::answer(code)),
            2 => Rule::new(reads(), Effect::answer(code.max(429))),
            3 => Rule::new(writes(), Effect::Timeout),
            4 => Rule::new(writes(), Effect::ResetBefore),
            _ => {
                let late = Duration::from_millis(self.dice.u64(100..3000));
                return Rule::new(Match::any().verbs([Verb::Watch]), Effect::DelayEvents(late));
            }
        };
        rule.skip(after).times(times)
    }

    fn change_weather(&mut self, fleet: &Fleet) {
        let mut modes = Modes::default();
        match self.dice.u32(0..7) {
            0 | 1 => {}
            2 => modes.calls_per_second = Some(self.dice.u32(1..5)),
            3 => modes.lost_per_mille = self.dice.u32(100..500),
            4 => modes.hidden_millis = self.dice.u64(1_000..20_000),
            5 => modes.create_answer_delay_millis = self.dice.u64(1_000..10_000),
            _ => {
                modes.trouble =
                    self.dice.choice([Trouble::Throttled, Trouble::Unavailable, Trouble::Silence]);
            }
        }
        fleet.cloud.sim.set_modes(modes);
        self.counts.weathers += 1;
    }

    /// A leader, for longer than its lease lasts: another one leads then.
    async fn cut_off(&mut self, fleet: &Fleet) -> Result<()> {
        if let Some(leader) = fleet.a_leader(&mut self.dice).await? {
            leader.proxy.refuse_all(true);
            tokio::time::sleep(LEASE.mul_f64(1.5)).await;
            leader.proxy.refuse_all(false);
            self.counts.cut_off += 1;
        }
        Ok(())
    }

    /// From now on all goes well.
    pub(crate) fn end(fleet: &Fleet) {
        for replica in &fleet.replicas {
            replica.proxy.clear_rules();
            replica.proxy.cut_connections();
        }
        fleet.cloud.sim.set_modes(Modes::default());
    }
}
