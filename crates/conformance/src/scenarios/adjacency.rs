//! The previous and the next record of a record.

use memory_engine_core::{Adjacent, Neighbor, Record, RecordId, Role, State, Timestamp};

use crate::{
    World,
    fixtures::{id, lin, mo, numbered, session},
};

fn between(previous: Option<u8>, next: Option<u8>) -> Adjacent {
    let same_voice = |n: u8| Neighbor { id: id(n), another_voice: false };
    Adjacent { previous: previous.map(same_voice), next: next.map(same_voice) }
}

async fn neighbours<const N: usize>(world: &World, numbers: [u8; N]) -> Vec<Adjacent> {
    let ids: Vec<RecordId> = numbers.map(id).to_vec();
    world.records.adjacent(&lin(), &ids).await.unwrap()
}

async fn put(world: &World, records: &[Record]) {
    world.put(&records.iter().collect::<Vec<_>>()).await;
}

pub async fn neighbours_are_the_previous_and_next_record(world: &World) {
    put(world, &[3, 1, 4, 2].map(|n| numbered(&lin(), n))).await;
    let expected = [
        between(Some(1), Some(3)),
        between(None, Some(2)),
        Adjacent::default(),
        between(Some(3), None),
        between(Some(1), Some(3)),
    ];
    assert_eq!(neighbours(world, [2, 1, 99, 4, 2]).await, expected);
}

pub async fn neighbours_at_one_time_follow_sequence_and_id(world: &World) {
    let mut records = [5, 4, 3, 2, 1].map(|n| numbered(&lin(), n));
    for (record, sequence) in records.iter_mut().zip([Some(-1), None, Some(0), Some(9), Some(0)]) {
        (record.occurred_at, record.source.sequence) = (Timestamp::from_micros(7), sequence);
    }
    put(world, &records).await;
    // By sequence: 5 at -1; 1, 3 and 4 at 0; 2 at 9.
    let expected = [
        between(Some(5), Some(3)),
        between(Some(4), None),
        between(Some(1), Some(4)),
        between(Some(3), Some(2)),
        between(None, Some(1)),
    ];
    assert_eq!(neighbours(world, [1, 2, 3, 4, 5]).await, expected);
}

pub async fn neighbours_have_the_same_address(world: &World) {
    let branch = session("a").with_branch("b").unwrap();
    let addresses = [session("a"), session("b"), lin(), branch, mo()];
    for (address, offset) in addresses.iter().zip(0..) {
        put(world, &[1, 2].map(|n| numbered(address, n * 10 + offset))).await;
    }
    for offset in 0..4 {
        let expected = [between(None, Some(20 + offset)), between(Some(10 + offset), None)];
        assert_eq!(neighbours(world, [10 + offset, 20 + offset]).await, expected);
    }
    assert_eq!(neighbours(world, [14]).await, [Adjacent::default()], "records of another user are invisible");
}

pub async fn neighbours_are_active(world: &World) {
    let mut records = [1, 2, 3, 4, 5].map(|n| numbered(&lin(), n));
    (records[1].state, records[3].state) = (State::Superseded, State::Revoked);
    put(world, &records).await;
    // An inactive record has active neighbours too.
    let expected = [between(None, Some(3)), between(Some(1), Some(3)), between(Some(1), Some(5))];
    assert_eq!(neighbours(world, [1, 2, 3]).await, expected);
    records[1].state = State::Active;
    put(world, &records[1..2]).await;
    assert_eq!(neighbours(world, [3]).await, [between(Some(2), Some(5))]);
    records[1].state = State::Deleted;
    put(world, &records[1..2]).await;
    assert_eq!(neighbours(world, [3]).await, [between(Some(1), Some(5))]);
}

pub async fn a_deleted_record_is_not_a_neighbour(world: &World) {
    put(world, &[1, 2, 3].map(|n| numbered(&lin(), n))).await;
    world.forget(&lin(), &[id(2)]).await;
    assert_eq!(
        neighbours(world, [1, 2, 3]).await,
        [between(None, Some(3)), Adjacent::default(), between(Some(1), None)]
    );
}

pub async fn neighbours_follow_a_changed_time(world: &World) {
    let mut records = [1, 2, 3].map(|n| numbered(&lin(), n));
    put(world, &records).await;
    records[0].occurred_at = Timestamp::from_micros(9_000_000);
    put(world, &records[..1]).await;
    assert_eq!(
        neighbours(world, [1, 2, 3]).await,
        [between(Some(3), None), between(None, Some(3)), between(Some(2), Some(1))]
    );
}

pub async fn another_role_or_speaker_is_another_voice(world: &World) {
    let mut records = [1, 2, 3, 4].map(|n| numbered(&lin(), n));
    for (record, (role, speaker)) in records.iter_mut().zip([
        (Role::USER, Some("Lin")),
        (Role::USER, Some("Mo")),
        (Role::ASSISTANT, Some("Mo")),
        (Role::ASSISTANT, Some("Mo")),
    ]) {
        (record.role, record.speaker) = (Some(role), speaker.map(Into::into));
    }
    put(world, &records).await;
    let voices = |adjacent: &Adjacent| [adjacent.previous, adjacent.next].map(|n| n.map(|n| n.another_voice));
    let found: Vec<_> = neighbours(world, [1, 2, 3, 4]).await.iter().map(voices).collect();
    let expected = [[None, Some(true)], [Some(true), Some(true)], [Some(true), Some(false)], [Some(false), None]];
    assert_eq!(found, expected);
}
