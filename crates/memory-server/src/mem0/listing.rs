//! Lists and scans memories.

use std::collections::BTreeMap;

use memory_engine::{Filter, Record, ScanQuery, Scope};

use super::{
    condition::{FilterCondition, SearchArea},
    error::Mem0Error,
    row,
    service::Mem0,
};
use crate::access::Access;

const PAGE: usize = 500;

/// Restricts the memories that fulfil a condition to those shown by default.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visibility {
    /// Includes expired memories.
    pub(super) expired: bool,
    /// Includes turns.
    pub(super) turns: bool,
}

impl Mem0 {
    /// Returns the areas of the shown memories that fulfil a condition.
    pub(super) fn areas(
        &self,
        access: &Access,
        scopes: &[Scope],
        condition: FilterCondition,
        visibility: Visibility,
    ) -> Result<Vec<SearchArea>, Mem0Error> {
        let mut meant = FilterCondition::Field(row::memories(visibility.turns)).and(condition);
        if !visibility.expired {
            meant = meant.and(FilterCondition::Field(row::fresh(&row::day_of(self.engine.clock().now()))));
        }
        meant.areas(access, scopes)
    }

    /// Returns the newest memories, at most `limit` after the first `skip`, and the total number; if the total is not
    /// requested, the number known so far.
    pub(super) async fn newest(
        &self,
        areas: &[SearchArea],
        skip: usize,
        limit: usize,
        count: bool,
    ) -> Result<(Vec<Record>, usize), Mem0Error> {
        if let [SearchArea { scope, filter, condition: None }] = areas {
            let mut query = ScanQuery::newest(limit).with_filter(filter.clone()).with_skip(skip);
            query.counted = count;
            let page = self.engine.scan(scope, &query).await?;
            let total = page.total.map_or(skip + page.records.len(), whole);
            return Ok((page.records, total));
        }
        // Which of them are the newest is seen when those of all places lie side by side.
        let wanted = skip + limit;
        let (mut found, mut total) = (Vec::new(), 0);
        for area in areas {
            let mut query = ScanQuery::newest(PAGE).with_filter(area.filter.clone());
            query.counted = count && area.condition.is_none();
            let (mut here, mut counted) = (0, None);
            loop {
                if !count || area.condition.is_none() {
                    query.limit = PAGE.min((wanted - here).max(1));
                }
                let page = self.engine.scan(&area.scope, &query).await?;
                counted = counted.or(page.total);
                for record in page.records.into_iter().filter(|record| area.holds(record)) {
                    // Later ones of this place are older still.
                    if here < wanted {
                        found.push(record);
                    }
                    here += 1;
                }
                (query.after, query.counted) = (page.next, false);
                if query.after.is_none() || ((!count || counted.is_some()) && here >= wanted) {
                    break;
                }
            }
            total += counted.map_or(here, whole);
        }
        found.sort_by_key(|record| std::cmp::Reverse(record.position()));
        Ok((found.into_iter().skip(skip).take(limit).collect(), total))
    }

    /// Everything within some scopes that a filter lets through, in their order of time, user by user.
    pub(super) async fn each(
        &self,
        scopes: &[Scope],
        filter: &Filter,
        mut look: impl FnMut(Record),
    ) -> Result<(), Mem0Error> {
        for scope in scopes {
            let mut query = ScanQuery::oldest(PAGE).with_filter(filter.clone());
            loop {
                let page = self.engine.scan(scope, &query).await?;
                page.records.into_iter().for_each(&mut look);
                query.after = page.next;
                if query.after.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Forgets what a filter lets through within some scopes, and notes for each memory that it was there. Counts the
    /// memories.
    pub(super) async fn forget_matching(&self, scopes: &[Scope], filter: &Filter) -> Result<usize, Mem0Error> {
        let mut count = 0;
        for scope in scopes {
            loop {
                let query = ScanQuery::oldest(PAGE).with_filter(filter.clone());
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
                    self.forget_all(&address, &records).await?;
                }
            }
        }
        Ok(count)
    }
}

fn whole(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

impl SearchArea {
    /// Returns true if a record that passes the filter fulfils the whole condition.
    pub(super) fn holds(&self, record: &Record) -> bool {
        self.condition.as_ref().is_none_or(|condition| condition.matches(record))
    }
}
