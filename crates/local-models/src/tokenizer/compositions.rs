//! Canonical composition of letters and marks (Unicode 14, marks below U+0800).
//!
//! Normalisation rules for single characters cannot compose a letter with its marks, as the full map of the reference
//! does. Without composition, decomposed text would become other tokens.

/// Returns the composition of `base` and `mark`.
pub(super) fn compose(base: char, mark: char) -> Option<char> {
    if !('\u{300}'..'\u{800}').contains(&mark) {
        return None;
    }
    let index = BY_MARK.binary_search_by_key(&mark, |&(mark, _)| mark).ok()?;
    let mut pairs = BY_MARK[index].1.chars();
    while let (Some(letter), Some(whole)) = (pairs.next(), pairs.next()) {
        if letter == base {
            return Some(whole);
        }
    }
    None
}

/// For each mark, pairs of a letter and its composition.
#[rustfmt::skip]
const BY_MARK: [(char, &str); 33] = [
    ('\u{300}', "AÀEÈIÌNǸOÒUÙWẀYỲaàeèiìnǹoòuùwẁyỳ¨῭ÂẦÊỀÔỒÜǛâầêềôồüǜĂẰăằĒḔēḕŌṐōṑƠỜơờƯỪưừΑᾺΕῈΗῊΙῚΟῸΥῪΩῺ\
      αὰεὲηὴιὶοὸυὺωὼϊῒϋῢЕЀИЍеѐиѝἀἂἁἃἈἊἉἋἐἒἑἓἘἚἙἛἠἢἡἣἨἪἩἫἰἲἱἳἸἺἹἻὀὂὁὃὈὊὉὋὐὒὑὓὙὛὠὢὡὣὨὪὩὫ᾿῍῾῝"),
    ('\u{301}', "AÁCĆEÉGǴIÍKḰLĹMḾNŃOÓPṔRŔSŚUÚWẂYÝZŹaácćeégǵiíkḱlĺmḿnńoópṕrŕsśuúwẃyýzź¨΅ÂẤÅǺÆǼÇḈÊẾÏḮÔỐ\
      ÕṌØǾÜǗâấåǻæǽçḉêếïḯôốõṍøǿüǘĂẮăắĒḖēḗŌṒōṓŨṸũṹƠỚơớƯỨưứΑΆΕΈΗΉΙΊΟΌΥΎΩΏαάεέηήιίοόυύωώϊΐϋΰϒϓ\
      ГЃКЌгѓкќἀἄἁἅἈἌἉἍἐἔἑἕἘἜἙἝἠἤἡἥἨἬἩἭἰἴἱἵἸἼἹἽὀὄὁὅὈὌὉὍὐὔὑὕὙὝὠὤὡὥὨὬὩὭ᾿῎῾῞"),
    ('\u{302}', "AÂCĈEÊGĜHĤIÎJĴOÔSŜUÛWŴYŶZẐaâcĉeêgĝhĥiîjĵoôsŝuûwŵyŷzẑẠẬạậẸỆẹệỌỘọộ"),
    ('\u{303}', "AÃEẼIĨNÑOÕUŨVṼYỸaãeẽiĩnñoõuũvṽyỹÂẪÊỄÔỖâẫêễôỗĂẴăẵƠỠơỡƯỮưữ"),
    ('\u{304}', "AĀEĒGḠIĪOŌUŪYȲaāeēgḡiīoōuūyȳÄǞÆǢÕȬÖȪÜǕäǟæǣõȭöȫüǖǪǬǫǭȦǠȧǡȮȰȯȱΑᾹΙῙΥῩαᾱιῑυῡИӢУӮиӣуӯḶḸḷḹ\
      ṚṜṛṝ"),
    ('\u{306}', "AĂEĔGĞIĬOŎUŬaăeĕgğiĭoŏuŭȨḜȩḝΑᾸΙῘΥῨαᾰιῐυῠАӐЕӖЖӁИЙУЎаӑеӗжӂийуўẠẶạặ"),
    ('\u{307}', "AȦBḂCĊDḊEĖFḞGĠHḢIİMṀNṄOȮPṖRṘSṠTṪWẆXẊYẎZŻaȧbḃcċdḋeėfḟgġhḣmṁnṅoȯpṗrṙsṡtṫwẇxẋyẏzżŚṤśṥŠṦ\
      šṧſẛṢṨṣṩ"),
    ('\u{308}', "AÄEËHḦIÏOÖUÜWẄXẌYŸaäeëhḧiïoötẗuüwẅxẍyÿÕṎõṏŪṺūṻΙΪΥΫιϊυϋϒϔІЇАӒЕЁЖӜЗӞИӤОӦУӰЧӴЫӸЭӬаӓеёжӝ\
      зӟиӥоӧуӱчӵыӹэӭіїӘӚәӛӨӪөӫ"),
    ('\u{309}', "AẢEẺIỈOỎUỦYỶaảeẻiỉoỏuủyỷÂẨÊỂÔỔâẩêểôổĂẲăẳƠỞơởƯỬưử"),
    ('\u{30a}', "AÅUŮaåuůwẘyẙ"),
    ('\u{30b}', "OŐUŰoőuűУӲуӳ"),
    ('\u{30c}', "AǍCČDĎEĚGǦHȞIǏKǨLĽNŇOǑRŘSŠTŤUǓZŽaǎcčdďeěgǧhȟiǐjǰkǩlľnňoǒrřsštťuǔzžÜǙüǚƷǮʒǯ"),
    ('\u{30f}', "AȀEȄIȈOȌRȐUȔaȁeȅiȉoȍrȑuȕѴѶѵѷ"),
    ('\u{311}', "AȂEȆIȊOȎRȒUȖaȃeȇiȋoȏrȓuȗ"),
    ('\u{313}', "ΑἈΕἘΗἨΙἸΟὈΩὨαἀεἐηἠιἰοὀρῤυὐωὠ"),
    ('\u{314}', "ΑἉΕἙΗἩΙἹΟὉΡῬΥὙΩὩαἁεἑηἡιἱοὁρῥυὑωὡ"),
    ('\u{31b}', "OƠUƯoơuư"),
    ('\u{323}', "AẠBḄDḌEẸHḤIỊKḲLḶMṂNṆOỌRṚSṢTṬUỤVṾWẈYỴZẒaạbḅdḍeẹhḥiịkḳlḷmṃnṇoọrṛsṣtṭuụvṿwẉyỵzẓƠỢơợƯỰưự"),
    ('\u{324}', "UṲuṳ"),
    ('\u{325}', "AḀaḁ"),
    ('\u{326}', "SȘTȚsștț"),
    ('\u{327}', "CÇDḐEȨGĢHḨKĶLĻNŅRŖSŞTŢcçdḑeȩgģhḩkķlļnņrŗsştţ"),
    ('\u{328}', "AĄEĘIĮOǪUŲaąeęiįoǫuų"),
    ('\u{32d}', "DḒEḘLḼNṊTṰUṶdḓeḙlḽnṋtṱuṷ"),
    ('\u{32e}', "HḪhḫ"),
    ('\u{330}', "EḚIḬUṴeḛiḭuṵ"),
    ('\u{331}', "BḆDḎKḴLḺNṈRṞTṮZẔbḇdḏhẖkḵlḻnṉrṟtṯzẕ"),
    ('\u{338}', "<\u{226e}=\u{2260}>\u{226f}\u{2190}\u{219a}\u{2192}\u{219b}\u{2194}\u{21ae}\
      \u{21d0}\u{21cd}\u{21d2}\u{21cf}\u{21d4}\u{21ce}\u{2203}\u{2204}\u{2208}\u{2209}\
      \u{220b}\u{220c}\u{2223}\u{2224}\u{2225}\u{2226}\u{223c}\u{2241}\u{2243}\u{2244}\
      \u{2245}\u{2247}\u{2248}\u{2249}\u{224d}\u{226d}\u{2261}\u{2262}\u{2264}\u{2270}\
      \u{2265}\u{2271}\u{2272}\u{2274}\u{2273}\u{2275}\u{2276}\u{2278}\u{2277}\u{2279}\
      \u{227a}\u{2280}\u{227b}\u{2281}\u{227c}\u{22e0}\u{227d}\u{22e1}\u{2282}\u{2284}\
      \u{2283}\u{2285}\u{2286}\u{2288}\u{2287}\u{2289}\u{2291}\u{22e2}\u{2292}\u{22e3}\
      \u{22a2}\u{22ac}\u{22a8}\u{22ad}\u{22a9}\u{22ae}\u{22ab}\u{22af}\u{22b2}\u{22ea}\
      \u{22b3}\u{22eb}\u{22b4}\u{22ec}\u{22b5}\u{22ed}"),
    ('\u{342}', "¨῁αᾶηῆιῖυῦωῶϊῗϋῧἀἆἁἇἈἎἉἏἠἦἡἧἨἮἩἯἰἶἱἷἸἾἹἿὐὖὑὗὙὟὠὦὡὧὨὮὩὯ᾿῏῾῟"),
    ('\u{345}', "ΑᾼΗῌΩῼάᾴήῄαᾳηῃωῳώῴἀᾀἁᾁἂᾂἃᾃἄᾄἅᾅἆᾆἇᾇἈᾈἉᾉἊᾊἋᾋἌᾌἍᾍἎᾎἏᾏἠᾐἡᾑἢᾒἣᾓἤᾔἥᾕἦᾖἧᾗἨᾘἩᾙἪᾚἫᾛἬᾜἭᾝἮᾞἯᾟὠᾠ\
      ὡᾡὢᾢὣᾣὤᾤὥᾥὦᾦὧᾧὨᾨὩᾩὪᾪὫᾫὬᾬὭᾭὮᾮὯᾯὰᾲὴῂὼῲᾶᾷῆῇῶῷ"),
    ('\u{653}', "\u{627}\u{622}"),
    ('\u{654}', "\u{627}\u{623}\u{648}\u{624}\u{64a}\u{626}\u{6c1}\u{6c2}\u{6d2}\u{6d3}\u{6d5}\u{6c0}"),
    ('\u{655}', "\u{627}\u{625}"),
];
