use super::*;

fn texts(text: &str) -> Vec<String> {
    let mut all: Vec<String> = names(text).into_iter().map(|(_, mention)| mention.name).collect();
    all.sort();
    all.dedup();
    all
}

#[test]
fn names_are_found_by_surname_title_repetition_and_ending() {
    for (text, expected) in [
        ("昨天王医生说我没事。", vec!["王医生"]),
        ("张小明老师去了青石村。", vec!["张小明老师", "青石村"]),
        ("林晓月走进来。沈砚看着林晓月，林晓月笑了，沈砚也笑了。", vec!["林晓月", "沈砚"]),
        ("我在杭州市的风清公司工作", vec!["杭州市", "风清公司"]),
        ("他是《红楼梦》的读者", vec!["红楼梦"]),
        ("有个孩子名叫小石头。", vec!["小石头"]),
        ("林曉月說，她的師父住在落霞山。", vec!["林曉月", "落霞山"]),
        ("时间说明一切，许多人在路上，高大山在前面。", vec![]),
        ("我很高兴，我们马上去超市，那里很安全，安全第一", vec![]),
        ("張小明老師去了臺北市", vec!["張小明老師", "臺北市"]),
        ("我们爬山去了", vec![]),
    ] {
        assert_eq!(texts(text), expected, "{text}");
    }
}

#[test]
fn kinds_follow_from_names() {
    assert_eq!(kind_from_name("王医生"), EntityKind::Person);
    assert_eq!(kind_from_name("林晓月"), EntityKind::Person);
    assert_eq!(kind_from_name("青石村"), EntityKind::Place);
    assert_eq!(kind_from_name("复旦大学"), EntityKind::Org);
    assert_eq!(kind_from_name("Anna"), EntityKind::Other);
}

#[test]
fn given_names_before_titles_may_contain_particles() {
    for (text, name) in [
        ("温若兰医生今天值班。", "温若兰医生"),
        ("我问了林若云老师。", "林若云老师"),
        ("昨天见到沈若英女士", "沈若英女士"),
        ("陈以德教授来讲课", "陈以德教授"),
        ("张之华先生是邻居", "张之华先生"),
        ("周若梅护士很耐心", "周若梅护士"),
        ("请找王其昌经理", "王其昌经理"),
        ("李若明律师打来电话", "李若明律师"),
        ("郑玉若小姐没来", "郑玉若小姐"),
        ("孙以文主任批了", "孙以文主任"),
    ] {
        assert!(texts(text).contains(&name.to_owned()), "{text}: {:?}", texts(text));
    }
    for text in [
        "他若是医生就好了",
        "我以为老师会来",
        "如果以后教授不来",
        "明天之前医生会打电话",
        "其他老师都走了",
        "若有医生在场",
        "以前的老师很严",
        "其中律师最忙",
        "若干护士请假",
        "我以医生的身份说",
    ] {
        assert!(texts(text).is_empty(), "{text}: {:?}", texts(text));
    }
}
