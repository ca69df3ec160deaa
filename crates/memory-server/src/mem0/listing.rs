//! Lists and scans memories.

use std::collections::BTreeMap;

use memory_engine::{Filter, LinkedTurns, Page, Record, ScanQuery, Scope, Timestamp, audit::AuditContext};

use super::{
    condition::{FilterCondition, SearchArea},
    error::Mem0Error,
    row,
    service::Mem0,
};
use crate::{access::Access, config::IncludedTurns};

/// Number of records that a scan reads at once.
const SCAN_PAGE_ROWS: usize = 500;

/// The memories that are shown besides active ones that have not expired.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visibility {
    /// Includes expired memories.
    pub(super) expired: bool,
    pub(super) turns: IncludedTurns,
    /// The time at which they were current; `None` for the present.
    pub(super) as_of: Option<Timestamp>,
}

impl Mem0 {
    /// Returns the areas that contain the visible memories which fulfil the condition.
    pub(super) fn areas(
        &self,
        access: &Access,
        scopes: &[Scope],
        condition: FilterCondition,
        visibility: Visibility,
    ) -> Result<Vec<SearchArea>, Mem0Error> {
        let mut visible = FilterCondition::Field(row::active_memories(visibility.turns)).and(condition);
        if !visibility.expired {
            let (settings, context) = (self.engine.settings(), AuditContext::current());
            let zone = context.zone().unwrap_or_else(|| settings.zone());
            let today = settings.clock().now().in_zone(zone).date().to_string();
            visible = visible.and(FilterCondition::Field(row::not_expired(&today)));
        }
        let mut areas = visible.areas(access, scopes)?;
        for area in &mut areas {
            area.as_of = visibility.as_of;
        }
        Ok(areas)
    }

    /// Returns the newest memories, at most `limit` after the first `skip`, and their total number. Without `count`,
    /// the total includes only the memories that were read.
    pub(super) async fn newest(
        &self,
        areas: &[SearchArea],
        skip: usize,
        limit: usize,
        count: bool,
    ) -> Result<(Vec<Record>, usize), Mem0Error> {
        for area in areas {
            self.engine.audit().log_export(&area.scope, "mem0.list").await?;
        }
        if let [area @ SearchArea { filter, condition: None, .. }] = areas {
            let mut query = ScanQuery::newest(limit).with_filter(filter.clone()).with_skip(skip);
            query.counted = count;
            let page = self.scan_area(area, &query).await?;
            let total = page.total.map_or(skip + page.records.len(), to_usize);
            return Ok((page.records, total));
        }
        // Any area may contain all of the newest memories, so each one contributes `skip + limit` candidates.
        let max_candidates = skip + limit;
        let mut candidates = Vec::new();
        let mut total = 0;
        for area in areas {
            let mut query = ScanQuery::newest(SCAN_PAGE_ROWS).with_filter(area.filter.clone());
            query.counted = count && area.condition.is_none();
            let mut matches = 0;
            let mut area_total = None;
            loop {
                if !count || area.condition.is_none() {
                    query.limit = SCAN_PAGE_ROWS.min((max_candidates - matches).max(1));
                }
                let page = self.scan_area(area, &query).await?;
                area_total = area_total.or(page.total);
                for record in page.records.into_iter().filter(|record| area.matches(record)) {
                    if matches < max_candidates {
                        candidates.push(record);
                    }
                    matches += 1;
                }
                query.after = page.next;
                query.counted = false;
                let is_counted = !count || area_total.is_some();
                if query.after.is_none() || (is_counted && matches >= max_candidates) {
                    break;
                }
            }
            total += area_total.map_or(matches, to_usize);
        }
        candidates.sort_by_key(|record| std::cmp::Reverse(record.position()));
        Ok((candidates.into_iter().skip(skip).take(limit).collect(), total))
    }

    async fn scan_area(&self, area: &SearchArea, query: &ScanQuery) -> Result<Page, Mem0Error> {
        Ok(match area.as_of {
            Some(time) => self.engine.history().as_of(time).scan(&area.scope, query).await?,
            None => self.engine.scan(&area.scope, query).await?,
        })
    }

    /// Forgets the records in the scopes that pass the filter, and logs the deletion of each memory. Returns the number
    /// of active memories among them.
    pub(super) async fn forget_matching(&self, scopes: &[Scope], filter: &Filter) -> Result<usize, Mem0Error> {
        let mut count = 0;
        for scope in scopes {
            loop {
                let query = ScanQuery::oldest(SCAN_PAGE_ROWS).with_filter(filter.clone());
                let page = self.engine.scan(scope, &query).await?.records;
                if page.is_empty() {
                    break;
                }
                count += page.iter().filter(|record| row::is_memory(record)).count();
                let mut addresses: BTreeMap<Scope, Vec<Record>> = BTreeMap::new();
                for record in page {
                    addresses.entry(record.scope.clone()).or_default().push(record);
                }
                for (address, records) in addresses {
                    self.forget_all(&address, &records, LinkedTurns::Keep).await?;
                }
            }
        }
        Ok(count)
    }
}

fn to_usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

impl SearchArea {
    /// Returns true if a record that passes the filter also fulfils the condition.
    pub(super) fn matches(&self, record: &Record) -> bool {
        self.condition.as_ref().is_none_or(|condition| condition.matches(record))
    }
}
