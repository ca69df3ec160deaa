//! Reads the TOML file of cases.

mod tables;

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context, Result, anyhow, bail, ensure};
use jiff::tz::TimeZone;
use memory_engine::{Field, Filter, RecallOptions, Timestamp};
use tables::{CaseTable, DefaultsTable, FileTable, TimeText};
use toml::Spanned;

use crate::{
    args::{self, ScopeArgs},
    regression::case::{Target, TestCase},
};

/// Maximum number of memories in an injected block, as in the gateway.
const INJECTION_LIMIT: usize = 5;
/// The round of a message in the middle of a conversation: the rule for its first message does not apply.
const LATER_ROUND: u64 = 2;

/// The cases of a file.
#[derive(Debug)]
pub(crate) struct CaseFile {
    pub(crate) cases: Vec<TestCase>,
    pub(crate) defaults: CaseDefaults,
}

/// The values of keys that a case does not set.
#[derive(Debug)]
pub(crate) struct CaseDefaults {
    table: DefaultsTable,
    /// The time zone.
    pub(crate) zone: TimeZone,
}

impl CaseDefaults {
    /// Returns a scope with the default for each name that is not given.
    pub(crate) fn scope_args(&self, given: ScopeArgs) -> ScopeArgs {
        let defaults = &self.table;
        let is_default = given.tenant == memory_engine::Scope::DEFAULT_TENANT;
        let tenant = defaults.tenant.clone().filter(|_| is_default);
        ScopeArgs {
            tenant: tenant.unwrap_or(given.tenant),
            user: given.user.or_else(|| defaults.user.clone()),
            agent: given.agent.or_else(|| defaults.agent.clone()),
            session: given.session.or_else(|| defaults.session.clone()),
            branch: given.branch.or_else(|| defaults.branch.clone()),
        }
    }
}

/// Reads a file of cases. Times and days without a zone are in `local` unless the file sets a zone.
///
/// # Errors
/// If the file cannot be read, is not valid or contains no case. The message has the line, and says what is allowed.
pub(crate) fn read(path: &Path, local: &TimeZone) -> Result<CaseFile> {
    let name = path.display();
    ensure!(path.exists(), "{name} does not exist; `memory test record {name} QUERY` creates it");
    let text = fs::read_to_string(path).with_context(|| format!("{name} cannot be read"))?;
    let file = parse(&text, local).with_context(|| format!("{name} is not valid"))?;
    ensure!(
        !file.cases.is_empty(),
        "{name} contains no case; add one with [[case]], query and expect, or with `memory test record {name} QUERY`"
    );
    Ok(file)
}

/// Parses a file of cases, which may be empty.
///
/// # Errors
/// As [`read`].
pub(crate) fn parse(text: &str, local: &TimeZone) -> Result<CaseFile> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file: FileTable = toml::from_str(text).map_err(|e| anyhow!("{}", e.to_string().trim_end()))?;
    let zone = match &file.defaults.timezone {
        Some(name) => args::zone(name).context("[defaults]")?,
        None => local.clone(),
    };
    ensure!(file.defaults.limit != Some(0), "[defaults]: limit is at least 1");
    let defaults = CaseDefaults { table: file.defaults, zone };
    let mut names = BTreeSet::new();
    let mut cases = Vec::with_capacity(file.cases.len());
    for case in file.cases {
        let line = line_of(text, &case);
        let case = resolve(case.into_inner(), line, &defaults).with_context(|| format!("the case at line {line}"))?;
        ensure!(
            names.insert(case.name.clone()),
            "the case at line {line}: another case has the name \"{}\" already; give one of them another name",
            case.name
        );
        cases.push(case);
    }
    Ok(CaseFile { cases, defaults })
}

/// Returns the line at which a table begins, from 1.
fn line_of(text: &str, case: &Spanned<CaseTable>) -> usize {
    let start = case.span().start.min(text.len());
    text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Applies the defaults to a case, and checks it.
fn resolve(table: CaseTable, line: usize, defaults: &CaseDefaults) -> Result<TestCase> {
    ensure!(!table.query.trim().is_empty(), "query is empty; write the question or the message of the user");
    let target = table.target.or(defaults.table.target).unwrap_or_default();
    check_target_keys(&table, target)?;
    let zone = match &table.timezone {
        Some(name) => args::zone(name)?,
        None => defaults.zone.clone(),
    };
    let time = |key: &str, text: &Option<TimeText>| -> Result<Option<Timestamp>> {
        let parsed = text.as_ref().map(|TimeText(text)| Timestamp::parse_in(text, &zone)).transpose();
        parsed.with_context(|| key.to_owned())
    };
    let default_limit = match target {
        Target::Injection => INJECTION_LIMIT,
        Target::Search | Target::Context => RecallOptions::default().limit,
    };
    let limit = table.limit.or(defaults.table.limit).unwrap_or(default_limit);
    ensure!(limit > 0, "limit is at least 1");
    let given = ScopeArgs {
        tenant: table.tenant.clone().unwrap_or_else(|| memory_engine::Scope::DEFAULT_TENANT.to_owned()),
        user: table.user.clone(),
        agent: table.agent.clone(),
        session: table.session.clone(),
        branch: table.branch.clone(),
    };
    let scope = defaults.scope_args(given);
    if target == Target::Context && scope.user.is_none() {
        bail!("target = \"context\" needs a user; add user = \"NAME\" to the case or to [defaults]");
    }
    let now = match time("now", &table.now)? {
        Some(now) => Some(now),
        None => time("now in [defaults]", &defaults.table.now)?,
    };
    let filters = [
        time("since", &table.since)?.map(Filter::since),
        time("until", &table.until)?.map(Filter::until),
        table.kind.as_deref().map(|kind| Filter::eq(Field::Kind, kind)),
        table.scene.as_deref().map(|scene| Filter::eq(Field::Scene, scene)),
        table.filter.clone(),
    ];
    let filter = filters.into_iter().flatten().reduce(Filter::and);
    if let Some(filter) = &filter {
        filter.validate()?;
    }
    let as_of = time("as_of", &table.as_of)?;
    check_expectations(&table, target, limit)?;
    Ok(TestCase {
        name: table.name.unwrap_or_else(|| table.query.clone()),
        line,
        target,
        query: table.query,
        scope: scope.scope()?,
        limit,
        now,
        as_of,
        zone,
        filter,
        from_scene: table.from_scene,
        only_then: table.only_then,
        conversation: table.conversation,
        round: table.round.unwrap_or(LATER_ROUND),
        pack: table.pack,
        expect: table.expect,
        forbid: table.forbid,
        abstain: table.abstain,
    })
}

/// Fails if a key has no effect on the target.
fn check_target_keys(table: &CaseTable, target: Target) -> Result<()> {
    let search_only = [
        ("as_of", table.as_of.is_some()),
        ("since", table.since.is_some()),
        ("until", table.until.is_some()),
        ("only_then", table.only_then),
        ("kind", table.kind.is_some()),
        ("scene", table.scene.is_some()),
        ("filter", table.filter.is_some()),
    ];
    let injection_only = [("conversation", !table.conversation.is_empty()), ("round", table.round.is_some())];
    let of = |keys: &[(&'static str, bool)]| keys.iter().find(|(_, is_set)| *is_set).map(|(key, _)| *key);
    let misplaced = match target {
        Target::Search => of(&injection_only).or(of(&[("pack", table.pack.is_some())])),
        // The zone of an injection is that of the engine.
        Target::Injection => {
            of(&search_only).or(of(&[("pack", table.pack.is_some()), ("timezone", table.timezone.is_some())]))
        }
        Target::Context => of(&search_only)
            .or(of(&injection_only))
            .or(of(&[("limit", table.limit.is_some()), ("from_scene", table.from_scene.is_some())])),
    };
    let Some(key) = misplaced else { return Ok(()) };
    let target = target.as_str();
    if key == "timezone" {
        bail!("timezone has no effect in a case with target = \"{target}\"; set it in [defaults]");
    }
    bail!("{key} has no effect with target = \"{target}\"; remove one of them");
}

/// Fails if the expectations are missing, contradict each other or cannot be met.
fn check_expectations(table: &CaseTable, target: Target, limit: usize) -> Result<()> {
    if table.expect.is_empty() && table.forbid.is_empty() && !table.abstain {
        bail!("it expects nothing; add expect = [\"…\"], forbid = [\"…\"] or abstain = true");
    }
    ensure!(
        table.forbid.iter().all(|prohibition| prohibition.rank.is_none()),
        "rank applies to expect only; remove it from forbid"
    );
    if target != Target::Search {
        let has_rank = table.expect.iter().any(|expectation| expectation.rank.is_some());
        let has_relevant = table.expect.iter().any(|expectation| expectation.relevant.is_some())
            || table.forbid.iter().any(|prohibition| prohibition.relevant.is_some());
        ensure!(!has_rank && !has_relevant, "rank and relevant apply to the hits of target = \"search\" only");
        ensure!(!table.abstain || table.expect.is_empty(), "abstain contradicts expect; remove one of them");
        return Ok(());
    }
    if let Some(rank) = table.expect.iter().filter_map(|expectation| expectation.rank).find(|rank| *rank > limit) {
        bail!("rank {rank} is beyond the limit of {limit} hits; lower it, or set limit = {rank}");
    }
    let expects_relevant = table.expect.iter().any(|expectation| expectation.relevant.unwrap_or(true));
    ensure!(
        !table.abstain || !expects_relevant,
        "abstain = true contradicts a relevant expected record; remove one of them, or add relevant = false to the \
         record"
    );
    Ok(())
}

#[cfg(test)]
mod tests;
