//! The handlers.

use axum::{Json, extract::State};
use memory_engine::{
    Filter, Forget, ForgetReport, ForgetText, RecordId, Scope,
    certificate::{CertificateCheck, DeletionCertificate, SearchExtent},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::state::DeletionsState;
use crate::{
    access::{Access, Owner},
    fault::Fault,
    request::{Body, OwnerNames, OwnerParams as _, OwnerQuery, owner_params},
};

owner_params! {
    "The user. Default: the only user of the key. A key for all users may leave it out together with `ids`.";
    /// A deletion: the owner, and exactly one of `ids`, `filter`, `text` and `everything`.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub(crate) struct DeletionRequest: Option<String> {
        /// The ids of the records.
        #[serde(default)]
        #[schemars(with = "Option<Vec<String>>")]
        ids: Option<Vec<RecordId>>,
        /// A filter of the records, in the engine's JSON format.
        #[serde(default)]
        #[schemars(with = "Option<Map<String, Value>>")]
        filter: Option<Filter>,
        /// A text: the records that contain it are deleted. Case, width, white space and the separators of numbers make
        /// no difference. 3 to 1000 characters, or at least 2 Chinese ones.
        #[serde(default)]
        text: Option<String>,
        /// True to replace `text` in the records by `[deleted]`, instead of deleting the records.
        #[serde(default)]
        redact: bool,
        /// True to keep `text` out afterwards: it is replaced by `[deleted]` in every new record.
        #[serde(default)]
        standing: bool,
        /// True to delete everything of the owner.
        #[serde(default)]
        everything: bool,
    }
}

/// The result of a deletion.
#[derive(Serialize, JsonSchema)]
pub(super) struct DeletionReply {
    /// True if no trace was found in the rows of the users in question, and every deleted record has a tombstone.
    /// Missing without a certificate: the store was not searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    clean: Option<bool>,
    /// Number of deleted records.
    forgotten: u64,
    /// Number of records in which `text` was replaced.
    redacted: u64,
    /// The entry that keeps `text` out from now on. A deletion of this id lets the text be stored again.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_out: Option<String>,
    /// Number of turns that state a deleted fact, and of what was derived from them: they are retracted.
    retracted: u64,
    /// The certificate, for `memory verify-certificate` and the route `/api/deletions/verify`. Missing if the server
    /// has no key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    certificate: Option<DeletionCertificate>,
}

/// The answer to `GET /api/deletions`.
#[derive(Serialize, JsonSchema)]
pub(super) struct DeletionsInfo {
    /// True if the server has a key, so that deletions have a certificate.
    certified: bool,
}

/// The texts that are kept out of the records of an owner.
#[derive(Serialize, JsonSchema)]
pub(super) struct StandingReply {
    /// The texts. They cannot be read: the store has their keyed hashes.
    standing: Vec<StandingEntry>,
}

/// A text that is kept out.
#[derive(Serialize, JsonSchema)]
struct StandingEntry {
    /// The id of its entry. A deletion of this id lets the text be stored again.
    id: String,
    /// The session, if the text is kept out of one session only.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    /// The time since which it is kept out.
    since: String,
    /// Number of characters of the text, without the separators of numbers and codes.
    length: usize,
}

/// A certificate.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct CertificateBody(Map<String, Value>);

/// The result of a verification.
#[derive(Serialize, JsonSchema)]
pub(super) struct VerificationReply {
    /// True if every check has passed.
    passed: bool,
    /// The checks: name, result and detail.
    #[schemars(with = "Vec<Map<String, Value>>")]
    checks: Vec<CertificateCheck>,
}

impl DeletionRequest {
    /// Returns the scope of the request, to which the caller has access, and the records to delete.
    pub(crate) fn resolve(self, access: &Access) -> Result<(Scope, Forget), Fault> {
        let scope = access.scope(&self.owner())?;
        let target = match (self.ids, self.filter, self.text, self.everything) {
            (Some(ids), None, None, false) => Forget::Ids(ids),
            (None, Some(filter), None, false) => Forget::Matching(filter),
            (None, None, Some(text), false) => {
                Forget::Text(ForgetText::new(text).with_redact(self.redact).with_keep_out(self.standing))
            }
            (None, None, None, true) => Forget::Everything,
            _ => return Err(Fault::bad_request("name exactly one of `ids`, `filter`, `text` and `everything: true`")),
        };
        if (self.redact || self.standing) && !matches!(target, Forget::Text(_)) {
            return Err(Fault::bad_request("`redact` and `standing` are about a `text`: name the text"));
        }
        if scope.user_name().is_none() && !matches!(target, Forget::Ids(_)) {
            return Err(Fault::bad_request("name the user in `user_id`: without it, the records of all users match"));
        }
        Ok((scope, target))
    }
}

impl DeletionReply {
    fn of(report: &ForgetReport, certificate: Option<DeletionCertificate>) -> Self {
        Self {
            clean: certificate.as_ref().map(DeletionCertificate::is_clean),
            forgotten: report.records(),
            redacted: report.redacted,
            kept_out: report.kept_out.map(|id| id.to_string()),
            retracted: report.retracted,
            certificate,
        }
    }
}

pub(super) async fn show(State(deletions): State<DeletionsState>) -> Json<DeletionsInfo> {
    Json(DeletionsInfo { certified: deletions.key.is_some() })
}

pub(super) async fn delete(
    State(deletions): State<DeletionsState>,
    access: Access,
    Body(request): Body<DeletionRequest>,
) -> Result<Json<DeletionReply>, Fault> {
    let (scope, target) = request.resolve(&access)?;
    let Some(key) = &deletions.key else {
        let report = deletions.engine.forget(&scope, target).await?;
        return Ok(Json(DeletionReply::of(&report, None)));
    };
    let handle = deletions.engine.deletion();
    let deletion = handle.forget_with_certificate(&scope, target, key, SearchExtent::Users).await?;
    Ok(Json(DeletionReply::of(&deletion.report, Some(deletion.certificate))))
}

pub(super) async fn list_standing(
    State(deletions): State<DeletionsState>,
    owner: OwnerQuery<OwnerNames>,
) -> Result<Json<StandingReply>, Fault> {
    let kept_out = deletions.engine.deletion().kept_out(&owner.scope).await?;
    let standing = kept_out.into_iter().map(|value| StandingEntry {
        id: value.id.to_string(),
        session_id: value.scope.session().map(str::to_owned),
        since: value.since.to_string(),
        length: value.length,
    });
    Ok(Json(StandingReply { standing: standing.collect() }))
}

pub(super) async fn verify(
    State(deletions): State<DeletionsState>,
    access: Access,
    Body(CertificateBody(body)): Body<CertificateBody>,
) -> Result<Json<VerificationReply>, Fault> {
    let certificate = DeletionCertificate::parse(&Value::Object(body).to_string())?;
    let scope = scope_of(&access, &certificate)?;
    // The certificates of this server are signed with its key. Without one, the signature is checked with the key that
    // the certificate names.
    let pinned = deletions.key.as_ref().map(|key| key.public_key());
    let verification = deletions.engine.deletion().verify_certificate(&scope, &certificate, pinned.as_ref()).await?;
    Ok(Json(VerificationReply { passed: verification.has_passed(), checks: verification.checks }))
}

/// Returns the scope of a certificate, if the caller has access to it.
fn scope_of(access: &Access, certificate: &DeletionCertificate) -> Result<Scope, Fault> {
    let owner = Owner { user: certificate.scope.user_name().map(str::to_owned), ..Owner::default() };
    Ok(access.scope(&owner)?)
}
