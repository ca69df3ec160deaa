//! Words that readers of values know.

/// Heads of English names of jobs.
pub(super) const JOBS: &[&str] = &[
    "teacher", "nurse", "doctor", "engineer", "developer", "programmer", "designer", "lawyer", "attorney", "accountant",
    "student", "professor", "lecturer", "researcher", "scientist", "writer", "author", "journalist", "reporter", "editor",
    "artist", "musician", "singer", "actor", "actress", "chef", "baker", "barista", "waiter", "waitress", "bartender",
    "server", "manager", "director", "consultant", "analyst", "architect", "electrician", "plumber", "carpenter",
    "mechanic", "driver", "pilot", "firefighter", "officer", "soldier", "farmer", "veterinarian", "vet", "dentist",
    "pharmacist", "therapist", "psychologist", "psychiatrist", "counselor", "coach", "instructor", "tutor", "librarian",
    "secretary", "assistant", "receptionist", "cashier", "salesperson", "salesman", "realtor", "broker", "banker", "trader",
    "economist", "entrepreneur", "freelancer", "photographer", "filmmaker", "producer", "translator", "interpreter",
    "technician", "administrator", "intern", "paramedic", "surgeon", "physician", "biologist", "chemist", "physicist",
    "mathematician", "statistician", "marketer", "recruiter", "strategist", "copywriter", "paralegal", "judge",
    "hairdresser", "stylist", "tailor", "contractor", "welder", "nanny", "caregiver", "homemaker", "housewife",
    "streamer", "youtuber", "blogger", "animator", "illustrator", "dancer", "composer", "dj", "freshman", "sophomore",
    "undergrad", "undergraduate", "postdoc", "principal", "colonist", "principal", "geologist", "historian", "coordinator",
    "supervisor", "superintendent", "cto", "ceo", "cfo", "auditor", "curator", "sommelier", "bookkeeper", "videographer",
    "novelist", "screenwriter", "poet", "stay-at-home mom", "stay-at-home dad", "stay at home mom", "stay at home dad",
    "business owner", "product owner", "social worker", "flight attendant", "data entry clerk", "clerk", "guard", "janitor",
    "librarian", "radiologist", "cardiologist", "dermatologist", "nutritionist", "dietitian", "electrician", "pianist",
    "guitarist", "drummer", "violinist", "cellist", "trainer", "personal trainer", "planner", "project lead", "team lead",
];

/// Ends of Chinese names of jobs.
pub(super) const ZH_JOBS: &[&str] = &[
    "老师", "教师", "医生", "护士", "律师", "工程师", "程序员", "设计师", "学生", "大学生", "研究生", "博士生", "高中生",
    "初中生", "小学生", "会计", "厨师", "司机", "记者", "编辑", "作家", "画家", "演员", "歌手", "警察", "军人", "公务员",
    "经理", "销售", "客服", "翻译", "导游", "摄影师", "建筑师", "药剂师", "咨询师", "科学家", "教授", "研究员",
    "自由职业者", "全职妈妈", "全职爸爸", "家庭主妇", "创业者", "主播", "博主", "插画师", "护工", "快递员", "外卖员",
    "农民", "工人", "飞行员", "空姐", "消防员", "店长", "前端", "后端", "运维", "测试工程师", "产品经理", "运营", "策划",
    "美工", "文员", "出纳", "分析师", "理发师", "美容师", "健身教练", "教练", "兽医", "牙医", "法官", "检察官", "咖啡师",
    "调酒师", "面包师", "裁缝", "电工", "木工", "保安", "保洁", "收银员", "服务员", "营业员", "技术员", "审计师",
    "顾问", "架构师", "算法", "数据分析", "新媒体", "自媒体", "导演", "编剧", "音乐人", "舞蹈演员", "钢琴家", "大一新生",
    "幼师", "班主任", "辅导员", "心理医生", "实习生", "博士", "研究人员", "药师", "法医", "网店店主", "电商", "总监",
];

/// Words for places of work, which an article may stand before.
pub(super) const WORKPLACES: &[&str] = &[
    "company", "hospital", "school", "university", "bank", "startup", "start-up", "firm", "restaurant", "cafe", "café",
    "store", "shop", "studio", "agency", "clinic", "library", "museum", "hotel", "nonprofit", "non-profit", "factory",
    "lab", "laboratory", "college", "bakery", "brewery", "bookstore", "shelter", "government", "ngo", "charity", "gym",
    "farm", "theater", "pharmacy", "warehouse", "salon", "newspaper", "magazine", "kindergarten", "daycare", "center",
];

pub(super) const MONTHS: &[&str] = &[
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december", "jan ", "feb ", "mar ", "apr ", "jun ", "jul ", "aug ", "sep ", "sept ", "oct ", "nov ", "dec ",
];

/// Provinces, large cities and countries.
pub(super) const ZH_PLACES: &[&str] = &[
    "北京", "上海", "天津", "重庆", "广东", "广州", "深圳", "东莞", "佛山", "珠海", "汕头", "潮汕", "浙江", "杭州", "宁波",
    "温州", "绍兴", "江苏", "南京", "苏州", "无锡", "常州", "徐州", "扬州", "福建", "福州", "厦门", "泉州", "山东",
    "济南", "青岛", "烟台", "威海", "河北", "石家庄", "唐山", "河南", "郑州", "洛阳", "湖北", "武汉", "湖南", "长沙",
    "四川", "成都", "绵阳", "陕西", "西安", "山西", "太原", "辽宁", "沈阳", "大连", "吉林", "长春", "黑龙江", "哈尔滨",
    "安徽", "合肥", "江西", "南昌", "广西", "南宁", "桂林", "贵州", "贵阳", "云南", "昆明", "大理", "丽江", "海南",
    "海口", "三亚", "甘肃", "兰州", "青海", "西宁", "宁夏", "银川", "新疆", "乌鲁木齐", "西藏", "拉萨", "内蒙古",
    "呼和浩特", "香港", "澳门", "台湾", "台北", "高雄", "美国", "英国", "法国", "德国", "日本", "东京", "大阪", "京都",
    "韩国", "首尔", "新加坡", "马来西亚", "泰国", "曼谷", "越南", "印度", "俄罗斯", "加拿大", "多伦多", "温哥华",
    "澳大利亚", "澳洲", "悉尼", "墨尔本", "新西兰", "意大利", "西班牙", "葡萄牙", "荷兰", "瑞士", "瑞典", "挪威",
    "纽约", "伦敦", "巴黎", "柏林", "洛杉矶", "旧金山", "东北", "江浙", "义乌", "昆山", "嘉兴", "金华", "台州", "南通",
    "惠州", "中山", "湛江", "株洲", "宜昌", "襄阳", "保定", "邯郸", "包头", "大同", "芜湖", "赣州", "九江", "遵义",
];

/// Adjectives of health, each with the noun that a fact is told with.
const ADJECTIVES: &[(&str, &str)] = &[
    ("diabetic", "diabetes"),
    ("pregnant", "a pregnancy"),
    ("lactose intolerant", "lactose intolerance"),
    ("lactose-intolerant", "lactose intolerance"),
    ("gluten intolerant", "gluten intolerance"),
    ("colorblind", "color blindness"),
    ("color blind", "color blindness"),
    ("colourblind", "colour blindness"),
    ("colour blind", "colour blindness"),
    ("dyslexic", "dyslexia"),
    ("asthmatic", "asthma"),
    ("epileptic", "epilepsy"),
    ("hypertensive", "hypertension"),
    ("anemic", "anemia"),
    ("insomniac", "insomnia"),
    ("nearsighted", "nearsightedness"),
    ("short-sighted", "short-sightedness"),
    ("left-handed", "left-handedness"),
    ("deaf", "deafness"),
];

/// The noun for an adjective of health.
pub(super) fn condition(adjective: &str) -> Option<&'static str> {
    ADJECTIVES.iter().find(|(known, _)| *known == adjective).map(|(_, noun)| *noun)
}

/// A number below 1000 in words of either language.
pub(super) fn spelled(text: &str) -> Option<u32> {
    const ONES: &[&str] = &[
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
        "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
    ];
    const TENS: &[&str] = &["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let lower = text.to_lowercase();
    let one = |word: &str| ONES.iter().position(|known| *known == word).and_then(|n| u32::try_from(n).ok());
    let ten = |word: &str| TENS.iter().position(|known| *known == word).and_then(|n| u32::try_from(n * 10 + 20).ok());
    let words: Vec<&str> = lower.split(['-', ' ']).filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        [word] => one(word).or_else(|| ten(word)).or_else(|| chinese(word)),
        [tens, ones] => Some(ten(tens)? + one(ones).filter(|n| (1..10).contains(n))?),
        _ => None,
    }
}

fn chinese(text: &str) -> Option<u32> {
    let digit = |c: char| "零一二三四五六七八九".chars().position(|d| d == if c == '两' { '二' } else { c });
    let (mut total, mut last) = (0, None);
    for c in text.chars() {
        match c {
            '百' | '十' => {
                let unit = if c == '百' { 100 } else { 10 };
                total += last.take().unwrap_or(1) * unit;
            }
            _ => last = Some(u32::try_from(digit(c)?).ok()?),
        }
    }
    (!text.is_empty()).then(|| total + last.unwrap_or(0))
}
