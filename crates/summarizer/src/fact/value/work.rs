//! Jobs, employers and schools.

use memory_engine_text::Words;

use super::{
    person::begins_no_name,
    phrase::{before_preposition, cut, is_deictic, without_article, without_particles},
    place::is_known_place,
};
use crate::{
    data::data,
    text::{has_han, is_capitalised, one_line},
};

data! {
    DATA = "en/work.toml", "zh/work.toml";
    Words: jobs, job_doubts, workplaces, employer_ends, job_ends, zh_jobs, zh_job_ends, zh_no_jobs, zh_job_verbs;
    Words: platforms, zh_job_doubts, zh_job_marks, zh_job_articles, untaught;
    Words: zh_employer_doubts, zh_no_employers, zh_schools, zh_no_schools;
}

pub(super) fn job(text: &str) -> Option<String> {
    let bare = before_preposition(cut(text));
    let bare = without_article(bare.strip_prefix("the ").unwrap_or(bare));
    let lower = bare.to_lowercase();
    let head = lower.rsplit([' ', '-']).next()?;
    let is_known = DATA.jobs.contains(head)
        || DATA.job_ends.any_ends(head)
        || DATA.jobs.iter().any(|job| job.contains(' ') && lower.ends_with(job));
    let fits = is_known && !DATA.job_doubts.any_starts(&lower) && bare.split_whitespace().count() <= 5;
    fits.then(|| one_line(bare))
}

pub(super) fn zh_job(text: &str) -> Option<String> {
    let bare = without_particles(text);
    // "在医院做护士": the job comes last.
    let after_marks = DATA.zh_job_marks.iter().filter_map(|mark| bare.rsplit_once(mark)).map(|(_, job)| job);
    let bare = after_marks.min_by_key(|job| job.len()).unwrap_or(bare);
    let bare = DATA.zh_job_articles.strip_start(bare).unwrap_or(bare);
    let is_job = DATA.zh_jobs.any_ends(bare) || (DATA.zh_job_ends.any_ends(bare) && bare.chars().count() > 1);
    let is_excluded =
        DATA.zh_no_jobs.any_ends(bare) || DATA.zh_job_verbs.any_starts(bare) || DATA.zh_job_doubts.any_in(text);
    let fits = is_job && !is_excluded && bare.chars().count() <= 10;
    (fits && !is_deictic(bare) && !bare.contains(['不', '想', '没', '像'])).then(|| bare.to_owned())
}

/// Returns the job of a person who teaches a subject.
pub(super) fn taught(text: &str) -> Option<String> {
    if has_han(text) {
        let subject = without_particles(text);
        let fits = (2..=6).contains(&subject.chars().count()) && !DATA.untaught.any_in(subject) && !is_deictic(subject);
        return fits.then(|| format!("{subject}老师"));
    }
    let subject = before_preposition(cut(text)).to_lowercase();
    let fits =
        (1..=3).contains(&subject.split(' ').count()) && !subject.split(' ').any(|word| DATA.untaught.contains(word));
    (fits && !subject.is_empty()).then(|| format!("{subject} teacher"))
}

pub(super) fn employer(text: &str) -> Option<String> {
    let bare = DATA.employer_ends.text_before(cut(text)).trim_end_matches([',', ' ']);
    let lower = bare.to_lowercase();
    let first = bare.split_whitespace().next()?;
    let words = bare.split_whitespace().count();
    let is_name = is_capitalised(bare) && words <= 5 && !begins_no_name(first);
    let has_article = ["a", "an", "the", "our"].contains(&&*first.to_lowercase());
    let is_description = has_article && words <= 6 && lower.split(' ').any(|word| DATA.workplaces.contains(word));
    let is_platform = DATA.platforms.contains(&first.to_lowercase()) && !has_capitalised_second_word(bare);
    ((is_name || is_description)
        && !is_platform
        && !is_known_place(bare)
        && !lower.contains("hour")
        && !lower.contains("while"))
    .then(|| one_line(bare))
}

/// Returns true for a name of several words, such as "Slack Technologies".
fn has_capitalised_second_word(name: &str) -> bool {
    name.split_whitespace().nth(1).is_some_and(is_capitalised)
}

pub(super) fn zh_employer(text: &str) -> Option<String> {
    let bare = without_particles(text);
    let fits = (2..=18).contains(&bare.chars().count());
    (fits && !DATA.zh_no_employers.contains(bare) && !DATA.zh_employer_doubts.any_in(bare)).then(|| bare.to_owned())
}

pub(super) fn zh_school(text: &str) -> Option<String> {
    let bare = without_particles(text);
    let is_school = DATA.zh_schools.any_in(bare) && !DATA.zh_no_schools.contains(bare) && bare.chars().count() <= 15;
    (is_school && !is_deictic(bare) && !bare.contains(['不', '没', '在'])).then(|| bare.to_owned())
}
