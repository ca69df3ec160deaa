//! The scenarios. Each is a statement about a backend, and panics if the statement is false.
#![allow(missing_docs, reason = "the name of a scenario says what it asserts")]

pub mod adjacency;
pub mod audit;
pub mod concurrency;
pub mod derivations;
pub mod embedding_versions;
pub mod expiry;
pub mod failures;
pub mod filter;
pub mod forwarding;
pub mod graph;
pub mod groups;
pub mod history;
pub mod isolation;
pub mod job_queue;
pub mod keyword_scores;
pub mod keywords;
pub mod ledger;
pub mod model;
pub mod one_database;
pub mod paging;
pub mod pending;
pub mod put_modes;
pub mod records;
pub mod residue;
pub mod round_trip;
pub mod synonyms;
pub mod tombstones;
pub mod vectors;

/// Passes the names of all scenarios, by group, to another macro of this crate.
#[doc(hidden)]
#[macro_export]
macro_rules! each_scenario {
    ($then:ident $arguments:tt) => {
        $crate::$then! {
            $arguments
            records {
                new_record_has_revision_one_and_indexing_jobs,
                get_keeps_request_order_and_marks_missing_records,
                empty_calls_change_nothing,
                an_invalid_record_rejects_its_batch,
                invalid_records_are_rejected,
                a_put_outside_the_scope_is_unauthorized,
                a_wider_scope_covers_narrower_addresses,
                the_same_id_under_two_users_is_two_records,
                a_record_outside_the_scope_is_invisible,
                similar_names_are_different_scopes,
                scope_dimensions_are_not_confused,
                delete_returns_the_ids_that_existed,
                two_thousand_records_fit_in_one_call,
                the_maximum_limit_and_lease_are_accepted,
                stats_count_the_records_in_scope,
            }
            groups {
                a_group_has_one_address_kind_state_and_application,
                groups_follow_deletions,
                groups_follow_derived_records_and_imported_tombstones,
                groups_follow_changes_of_records,
                groups_have_the_latest_edit,
                groups_accept_any_metadata,
                groups_follow_a_deletion_of_two_thousand_records,
                records_are_counted_by_period_and_kind,
            }
            round_trip {
                r4_every_field_comes_back,
                unset_fields_stay_unset,
                an_empty_field_differs_from_an_unset_one,
                special_characters_round_trip_in_text_fields,
                special_characters_round_trip_in_addresses,
                every_trust_and_state_round_trips,
                extreme_numbers_and_times_round_trip,
                metadata_of_every_json_type_round_trips,
                metadata_numbers_round_trip_exactly,
                maximum_text_and_metadata_round_trip,
            }
            put_modes {
                upsert_replaces_and_keeps_the_first_recorded_at,
                an_identical_upsert_changes_nothing,
                if_absent_keeps_an_existing_record,
                create_conflicts_with_an_existing_record,
                a_replica_keeps_its_revision_and_history,
                an_update_needs_the_current_revision,
                an_update_of_a_missing_record_is_not_found,
                later_writes_of_a_batch_see_earlier_ones,
                a_conflict_rolls_back_the_whole_batch,
                a_record_cannot_move_to_another_address,
                a_new_text_speaker_or_role_requeues_the_record,
                other_changes_do_not_requeue_the_record,
                an_inactive_record_is_stored_and_not_queued,
            }
            paging {
                records_are_ordered_by_time_sequence_and_id,
                pages_over_equal_times_are_complete_and_disjoint,
                a_limit_of_zero_returns_an_empty_page,
                a_full_last_page_has_no_next_cursor,
                a_page_can_skip_records_and_count_the_total,
                filtered_pages_are_full,
                a_cursor_survives_deletion_of_its_record,
                pages_cover_all_addresses_in_scope,
                a_scan_returns_records_of_every_state,
                scan_rejects_an_invalid_filter,
            }
            expiry {
                expired_records_are_listed_in_the_order_of_their_expiry,
                pinned_records_do_not_expire,
                pinned_records_can_be_listed,
                a_removed_tombstone_blocks_nothing,
                a_content_stays_blocked_while_another_tombstone_blocks_it,
            }
            history {
                a_change_of_the_state_is_kept_with_its_time,
                a_replaced_text_is_unknown_unless_it_is_kept,
                the_history_of_a_caller_is_only_kept_with_a_new_record,
                changed_records_can_be_listed,
            }
            pending {
                pending_records_are_stored_and_in_no_index,
                pending_records_can_be_listed_and_counted,
                an_accepted_record_gets_terms_and_jobs,
                a_record_that_waits_again_leaves_the_indexes,
                pending_records_are_deleted_with_their_source,
            }
            adjacency {
                neighbours_are_the_previous_and_next_record,
                neighbours_at_one_time_follow_sequence_and_id,
                neighbours_have_the_same_address,
                neighbours_are_active,
                a_deleted_record_is_not_a_neighbour,
                neighbours_follow_a_changed_time,
                another_role_or_speaker_is_another_voice,
            }
            tombstones {
                a_deleted_record_leaves_only_a_tombstone,
                a_tombstone_blocks_its_id_for_every_write,
                a_tombstone_blocks_its_content_for_imports_and_derivations,
                equivalent_content_is_blocked,
                content_is_blocked_at_all_addresses_of_a_user,
                a_blocked_write_does_not_reject_its_batch,
                tombstones_are_paged_by_id,
                tombstones_are_visible_in_the_scope_of_their_record,
                importing_tombstones_deletes_blocks_and_counts,
                tombstones_carry_deletions_to_another_store,
                a_tombstone_of_another_address_is_skipped,
                a_tenant_wide_delete_covers_all_users,
                an_import_cannot_be_updated_to_deleted_content,
                importing_tombstones_outside_the_scope_is_unauthorized,
            }
            residue {
                a_search_of_some_users_does_not_depend_on_others,
                stored_records_have_traces,
                deleted_records_have_no_traces,
                a_record_of_another_user_is_no_trace,
                remaining_records_with_the_content_are_listed,
                a_replaced_value_has_no_traces,
                a_record_derived_from_a_deleted_one_is_a_trace,
            }
            job_queue {
                jobs_are_claimed_in_queue_order,
                a_claimed_job_is_hidden_until_its_lease_expires,
                a_released_job_can_be_claimed_at_once,
                a_lease_of_zero_does_not_claim,
                completing_a_job_removes_only_that_job,
                completing_an_old_revision_is_stale,
                completing_a_deleted_record_is_stale,
                jobs_of_several_users_complete_independently,
                a_claim_returns_the_current_record,
                a_metadata_change_does_not_requeue_a_completed_job,
                jobs_follow_the_state_of_their_record,
                requeue_queues_all_active_records_in_scope,
                a_job_requeued_during_work_stays_queued,
                enqueue_queues_the_given_records_in_scope,
                one_queue_serves_all_tenants,
                queued_at_is_reported_and_reset_on_requeue,
                an_extended_lease_covers_only_claimed_jobs,
                a_retry_delay_ends_when_the_clock_is_set_back,
            }
            keywords {
                a_record_matches_exactly_its_terms,
                a_query_without_terms_finds_nothing,
                special_characters_are_not_query_syntax,
                a_term_of_300_characters_is_found,
                a_query_may_have_a_thousand_clauses,
                equal_keyword_scores_are_ordered_by_id,
                new_terms_replace_old_ones,
                deleted_terms_are_not_found,
                indexed_terms_are_returned_by_record,
                terms_outside_the_scope_are_unauthorized,
                keyword_search_stays_in_scope,
                keyword_search_rejects_an_invalid_filter,
                terms_in_a_write_are_indexed_or_queued,
                a_late_keyword_entry_of_a_deleted_record_is_removed,
            }
            keyword_scores {
                scores_equal_the_reference,
                scores_equal_a_worked_example,
                statistics_cover_the_searched_scope,
                other_users_do_not_affect_scores,
                a_clause_scores_the_weighted_sum_of_its_terms,
                a_term_in_two_clauses_scores_in_both,
                a_filter_does_not_change_scores,
                scores_follow_replaced_and_deleted_terms,
                statistics_count_entries_not_records,
            }
            vectors {
                the_store_reports_its_space,
                hits_are_ordered_by_cosine,
                scores_ignore_the_norm_of_a_vector,
                search_equals_exact_search,
                equal_vector_scores_are_ordered_by_id,
                a_selective_filter_returns_all_matches,
                a_small_scope_returns_all_its_vectors,
                a_new_vector_replaces_the_old_one,
                deleted_vectors_are_not_found,
                a_vector_of_another_dimension_rejects_its_batch,
                vectors_outside_the_scope_are_unauthorized,
                vector_search_stays_in_scope,
                vector_search_rejects_an_invalid_filter,
                a_late_vector_of_a_deleted_record_is_removed,
            }
            embedding_versions {
                a_second_version_is_filled_and_cut_over,
                a_dropped_version_makes_room_for_another,
                a_restarted_version_retries_and_may_miss_dead_letters,
            }
            synonyms {
                groups_are_listed_in_the_order_of_their_terms,
                a_group_replaces_the_one_with_an_equivalent_term,
                an_invalid_group_rejects_its_batch,
                remove_matches_equivalent_terms_and_counts_groups,
                special_characters_round_trip_in_groups,
                users_and_tenants_have_separate_groups,
                a_narrower_scope_means_its_user,
                a_verdict_holds_until_it_is_replaced,
                clear_removes_groups_and_verdicts_in_scope,
                empty_synonym_calls_change_nothing,
            }
            derivations {
                derived_lists_direct_and_indirect_derivations,
                sources_may_be_missing_and_may_change,
                deleting_a_source_deletes_its_derivations,
                deleting_several_sources_counts_each_record_once,
                an_imported_tombstone_deletes_derivations,
                replacing_a_text_deletes_its_derivations,
                derivations_of_the_same_batch_are_kept,
                cascade_deleted_content_blocks_imports_only,
                other_sources_of_a_deleted_derivation_are_requeued,
                a_failed_precondition_is_a_conflict,
                cascade_deletion_clears_the_indexes,
            }
            failures {
                jobs_are_queued_for_new_or_changed_text,
                a_failed_job_waits_until_its_retry_time,
                dead_letters_are_listed_and_counted_separately,
                failures_of_old_revisions_are_ignored,
            }
            audit {
                entries_follow_each_other_and_are_read_back,
                every_field_of_an_entry_round_trips,
                entries_are_read_within_their_scope,
                tenants_have_separate_chains,
                queries_select_by_actor_action_record_and_time,
                pages_of_entries_are_complete_in_both_orders,
                an_invalid_event_rejects_its_batch,
                concurrent_appends_make_one_chain,
                a_pruned_chain_verifies_from_its_anchor,
                pruning_without_old_entries_writes_nothing,
                an_expected_entry_must_be_in_the_chain,
            }
            ledger {
                entries_are_stored_and_not_indexed,
                a_record_that_becomes_an_entry_is_unqueued,
            }
            graph {
                entities_and_relations_cite_their_record,
                relations_list_their_rules,
                an_upsert_replaces_the_extraction,
                edges_and_entities_vanish_with_their_last_evidence,
                a_reader_sees_only_extractions_in_scope,
                a_tenant_wide_walk_keeps_users_separate,
                a_filter_limits_an_inherited_branch_to_the_fork,
                aliases_merge_entities,
                a_shared_alias_does_not_merge_entities,
                a_walk_stops_at_its_hop_limit,
                limits_keep_the_most_supported_relations,
                relations_are_filtered_by_validity,
                an_invalid_extraction_rejects_its_batch,
                special_characters_round_trip_in_names,
                clear_removes_extractions_in_scope,
                a_deletion_reports_removals_per_store,
                an_extraction_is_deleted_with_its_record,
                boxed_graph_stores_forward_every_call,
                walks_equal_a_reference_model,
            }
            one_database {
                token_vectors_are_stored_with_the_vector,
                deleting_a_record_deletes_its_terms_and_vector,
                an_imported_tombstone_deletes_terms_and_vector,
                an_inactive_record_leaves_the_indexes,
                entries_of_missing_records_are_ignored,
                entries_of_inactive_records_are_ignored,
                entries_of_old_revisions_are_ignored,
                an_ignored_entry_does_not_reject_its_batch,
                terms_in_a_write_are_found_at_once,
                terms_of_a_failed_batch_are_not_stored,
                a_search_can_return_records_with_terms,
                filters_see_the_current_record,
                a_reused_filter_sees_later_writes,
            }
            concurrency {
                one_of_many_concurrent_creates_succeeds,
                one_of_many_concurrent_updates_succeeds,
                concurrent_imports_create_one_record,
                a_failed_batch_does_not_affect_concurrent_ones,
                concurrent_claims_return_different_records,
                a_completed_write_is_visible_to_later_calls,
                a_cancelled_write_is_atomic,
            }
            filter {
                random_filters_agree_with_matches,
                a_negated_condition_on_a_missing_field_is_true,
                empty_and_is_true_and_empty_or_is_false,
                json_types_are_not_coerced,
                integers_are_compared_as_floats,
                texts_are_compared_bytewise,
                the_deepest_and_widest_filters_are_accepted,
                a_filter_cannot_widen_the_scope,
            }
            isolation {
                results_are_exactly_the_records_in_scope,
            }
            model {
                results_equal_the_in_memory_store,
                boxed_results_equal_the_in_memory_store,
            }
            forwarding {
                boxed_record_stores_page,
                boxed_job_queues_lease,
                boxed_keyword_stores_search_and_delete,
                boxed_vector_stores_search_and_delete,
                boxed_synonym_stores_forward_every_call,
            }
        }
    };
}
