"""Frequent characters by language, for telling encodings apart (``legacy.py``). Order carries no meaning."""

from __future__ import annotations

_BOTH_HAN = (
    "的一是不了在人有我他大上中下小不可以出生到子自之年去那能好心多天也道此其得三四五六七八九十二千百日月水火木金土口"
    "手目耳言行用名本文字元代入全公共分列化反古台合同名向回因在地址基夜太夫失女如安完定客家容密少工左右已市平年幸序底"
    "式引形影往待性成或所打承技把投抱持指按排接描提放故教散料方新日早明星是更最月有期未本束林果校核根格案次正步每比求"
    "法治流海消深清源演火照然版特率王理生由界白的相看真知石社示祖科程空立第等算精系素索細素者而耳背能自至色英草行表被"
    "解言計試語說請警走起足路身車辛近送追通速造部都配重量金開除集非面音頁項食首香高黑位何作你使例依信保值做像先光內兩"
    "共具典再制刷前力加助包北半南去又取受只告和品器因固型增士外夫始字存它安官定宣密察寫小局山川左差己布常平度建式弱形"
    "意感憶成我扣批找抽拉拒招持指按控推支改故效敵整文料新方既早明春晚智更書查校格條模此每決法消清温游為無照版特狀由"
)
_SIMPLIFIED = (
    "们这个为来说国时会对过还样发学现进动经么问题没开关与无从当间实两体机电长业应点头见门话处东认义气种几给员变数据库"
    "检测试书写读军总产务战队马车万亿称让边转层设记许论议计划语译词编码类别录练训结构网络显输错误无法选择确认参数环"
    "线程执删终较优势响应复杂项状态标签权须该级维护术组织专门历史场统计单杂难题简练习热华带图书馆乐龙鱼鸟飞东风听师"
    "从众传伤伦伪余侧侨债倾偿储儿党内册冲决况净减几凤击划则刚创办劝区医协卫却厂厅压厌县双变叶号吗启员咨响园围圆圣坏"
    "块坚坛垒备够夺奖妇妈娱孙宁宝审宽宾寻导将尔尝尽届岁岛币帮库庆广应庙张弹强归径忆怀总恶惊惯愿戏户扩护报担拟择损换"
    "据断旧显术权条极构标样树档桥梦检楼横欢欧残毁毕汇汉沟没泽测济浏润涨渐湾满滤灭灯灵炼点烦烧爱独环现畅疗盖监盘码础"
    "确离种积稳穷窗竞笔签简类粮纠红约级纪纯纳纵组细织终绍经结绕给络绝继续维综缓编缘缩网罗罚罢职联聪肃肠脑脚节范获药"
    "虑虽补装规视览觉触订计讨让训议记讲许论设访证评识诉词译试话询该详语误说请诸读课调谁谈谢财责败货质购贯贵费资赏赖"
    "跃践车轨转轮软轻载较辅辆输辞达迁过迈运还进远连迟适选递逻遗邮邻释里钟钱链锁错键长门闭问间闻阅队阳阴阵阶际陆险随"
    "隐难雾静页顶项顺须顾预领频题颜额风饭馆首驱验骗默齐建议使用默认目录刊卷"
)
_TRADITIONAL = (
    "們這個為來說國時會對過還樣發學現進動經麼問題沒開關與無從當間實兩體機電長業應點頭見門話處東認義氣種幾給員變數據庫"
    "檢測試書寫讀軍總產務戰隊馬車萬億稱讓邊轉層設記許論議計劃語譯詞編碼類別錄練訓結構網絡顯輸錯誤選擇確參環線程執刪終"
    "較優勢響複雜項狀態標籤權須該級維護術組織專歷史場統單難簡習熱華帶圖館樂龍魚鳥飛風聽師眾傳傷偽側債傾償儲兒黨內衝"
    "決況淨減擊則剛創辦勸區醫協衛廠廳壓縣雙葉號嗎啟園圍圓聖壞塊堅備夠奪獎婦媽寧寶審寬賓尋導將爾嘗盡屆歲島幣幫慶廣廟"
    "張彈強歸徑憶懷惡驚慣願戲戶擴報擔擬損換斷舊極樹檔橋夢樓橫歡歐殘毀畢匯漢溝澤濟瀏潤漲漸灣滿濾滅燈靈煩燒愛獨暢療蓋"
    "監盤礎離積穩窮窗競筆糾紅約紀純納縱細紹繞絕繼續綜緩緣縮羅罰職聯聰腦腳節範獲藥慮雖補裝規視覽覺觸訂討講訪證評識訴"
    "詢詳請諸課調誰談謝財責敗貨質購貫貴費資賞賴躍踐軌輪軟輕載輔輛辭達遷邁運遠連遲適遞邏遺郵鄰釋鐘錢鏈鎖鍵閉聞閱陽陰"
    "陣階際陸險隨隱霧靜頁頂順顧預領頻顏額飯驅驗騙默齊檔案程式資料預設目錄您"
)
_KANJI = (
    "日本人年大会国中一者事上時合部出生前入場社地方間見行対学高新内動同数定体力明化発表立開業問題要現関法理性制政当機"
    "作用全回実電文字手成加分名変更設定指保存終了検索読込書込無効有効使用可能場合必要処理情報確認実行開始削除追加表示"
    "入力出力画面接続失敗警告引数番号行列値型式先後次最初最後以下以上未済語言環境権限取得変換形式対応種類説明参照不明正"
    "私思言彼女子何今自気間話世界家来知持良考意味多少長小物品売買金額円目的"
)

COMMON_HAN = {
    "zh": _BOTH_HAN + _SIMPLIFIED,
    "zh_hant": _BOTH_HAN + _TRADITIONAL,
    "ja": _KANJI,
    "ko": "",
}
HANGUL = frozenset(
    "이다는을의에가를은고하지한로사도기어리자스인있아정시나그대보서일수부전제과만들니라해습되여게면장성주원동상구조관공산국"
    "것명세실미위경소연오선우등했유화비치분모으중신무생학안음행내방식용진문물할때없개입력출파오류값열변설저름버호터트프"
    "않큰더작업확바결재종목록표찾령지원존삭편집창드워크메뉴복줄글검색페했던았었겠습와야까요네죠"
)
# Letters by falling frequency, then letters that only count as belonging to the script (lower case if there is case).
LETTERS = {
    "cyrillic": ("оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё", "іїєґўѓќћђљњџјѕ"),
    "greek": ("αοιετσνηυρπκμλςωίόάέήύώδγθχφβξζψ", "ϊϋΐΰ"),
    "thai": ("านรกอเงมยลวดทส่้ตัี์ิคปแหบไุชขูจพใะืถผึธซษศ", "ฌญฎฏฐฑฒณฝฟภฤฬฮฯำ็โๆฦๅ๐๑๒๓๔๕๖๗๘๙ฉฃฅฆฺ๊๋ํ"),
    "hebrew": ("יוהלאתרבמנשםדחעקפכסטגצןזךףץ", "־ְֱֲֳִֵֶַָֹֻּ"),
    "arabic": ("اليمنتروبعدهفسكقحجةصشطخىأذضغئزثءظإآؤ", "پچژگً"),
}
# Accented letters of languages in Latin script.
ACCENTS = {
    "fr": "éèêëàâçùûôîïœæ", "de": "äöüß", "es": "áéíóúñüºª", "pt": "ãçáéíóúâêôõàüºª", "it": "àèéìòù", "sv": "åäöé",
    "da": "æøåé", "nl": "ëïéöüèê", "ca": "àèéíïòóúüç·", "ga": "áéíóú", "is": "áéíóúýðþæö", "pl": "ąćęłńóśźż",
    "cs": "áčďéěíňóřšťúůýž", "sk": "áäčďéíľňóôšťúýž", "hu": "áéíóöőúüű", "ro": "ăâîşţ", "hr": "čćđšž",
    "tr": "çğıöşüâîİ", "lt": "ąčęėįšųūž", "lv": "āčēģīķļņšūž", "et": "äõöüšž",
}  # fmt: skip
PUNCTUATION = frozenset(
    "，。、；：？！“”‘’（）《》〈〉「」『』【】〔〕…—·～　・ー–„‚‹›•€£¥§©®™°±²³µ½¼¾«»¿¡×÷†‡\xa0№▪■□●○◎★☆→←↑↓％＋－＝／"
)
# Common words without accents, by code page.
_WEST = (
    "the of and to in is for that with de la le les des et un une du dans pour est que qui sur pas el los las en para"
    " por con una no se del il di che per non da dei al der die das und ist nicht den mit von zu ein eine och att det"
    " som av inte og er ikke til et har het een van niet op zijn ei ja on oli os do com um uma em na ou a i va els amb"
    " dos ao nel sono y su es ne ce au"
)
_CENTRAL = (
    "i w na z do nie jest to o po dla lub od jak pliku a v je se si s k pro nebo ne pri bol ako az nem hogy egy van"
    " vagy nu cu este din la sau pentru care u za koji ili iz od in ni ki so da"
)
_TURKISH = "ve bir bu da de ile olarak dosya veya hata var yok ne mi gibi daha sonra kadar en"
_BALTIC = "ir kad ne su yra tai jei iki nuo un no ar par uz ja vai kas pie on ei see kui et ega"
WORDS = {
    "west": frozenset(_WEST.split()),
    "central": frozenset(_CENTRAL.split()),
    "turkish": frozenset(_TURKISH.split()),
    "baltic": frozenset(_BALTIC.split()),
}
