//! What is said in the tables, day by day.

/// One message, and what the plan expects of it.
#[derive(Debug)]
pub(crate) struct Line {
    /// The day, and with it the window; a window begins without history.
    pub(crate) day: usize,
    pub(crate) text: &'static str,
    pub(crate) scene: &'static str,
    pub(crate) rule: &'static str,
    /// What the injected block has to hold; nothing is injected where there is none.
    pub(crate) holds: Option<&'static str>,
    /// The row of the plan.
    pub(crate) row: &'static str,
}

const fn line(
    day: usize,
    text: &'static str,
    scene: &'static str,
    rule: &'static str,
    holds: Option<&'static str>,
    row: &'static str,
) -> Line {
    Line { day, text, scene, rule, holds, row }
}

/// Three days with Krueger.
#[rustfmt::skip]
pub(crate) const STORY: &[Line] = &[
    line(1, "今天好累啊", "daily", "cold_start", None, "5.2 daily"),
    line(1, "上次我们聊到换工作，周五就要面试了，有点紧张", "daily", "recall", None, ""),
    line(1, "来玩剧本吧！", "plot", "nothing", None, "5.2 plot"),
    line(1, "（继续剧情对话）", "plot", "plot_recall", None, "5.2 plot（继承）"),
    line(1, "Krueger 掀开伪装网，露出胸前的双头鹰", "plot", "nothing", None, ""),
    line(1, "不玩了回来聊天", "daily", "nothing", None, "5.2 daily（退出）"),
    line(1, "测试一下这个MCP工具", "meta", "nothing", None, "5.2 meta"),
    line(1, "今天被老板骂了，好难过", "daily", "emotion", None, ""),
    line(2, "早安", "daily", "cold_start", Some("老板"), "5.3 新窗口第一条消息"),
    line(2, "你还记得上次我们聊什么吗", "daily", "recall", Some("面试"), "5.3 你还记得上次我们聊什么吗"),
    line(2, "吃饭了吗", "daily", "nothing", None, "5.3 吃饭了吗"),
    line(2, "还记得克鲁格的纹身吗", "daily", "recall", Some("[剧本]"), "5.3 同义词: 克鲁格的纹身"),
    line(3, "早", "daily", "cold_start", Some("克鲁格"), ""),
    line(3, "唉，还是很伤心", "daily", "emotion", Some("老板"), "5.3 emotion（最近3天）"),
    line(3, "接着演", "plot", "nothing", None, ""),
    line(3, "上次剧情里谁掀开了伪装网", "plot", "plot_recall", Some("双头鹰"), "5.3 plot_recall"),
];
