"""English words that are capitalised for other reasons than being names.

Most capitals stand at the beginning of a sentence, in a greeting or on a calendar word. A list of
them decides more cases than any rule about letters, and it needs no model. The sets are lower-case;
words with regular endings are recognised by :func:`is_ordinary` and not listed.
"""

from __future__ import annotations

from typing import Final

STARTERS: Final = frozenset(
    """
    a an the this that these those there here it its he she his him her hers they them their theirs
    we us our ours you your yours i me my mine myself yourself himself herself itself ourselves
    themselves who whom whose which what when where why how whatever whenever wherever whoever
    however whether and or but nor so yet for if then else than because since although though while
    whereas unless until till once as at by in into on onto off out of from to toward towards with
    without within about above across after against along among around before behind below beneath
    beside besides between beyond despite down during except inside like near over past per through
    throughout under up upon via all any anybody anyone anything anyway anyways anytime anywhere
    both each either every everybody everyone everything everywhere few many more most much neither
    nobody none nothing nowhere one ones other others another same several some somebody someone
    someday somehow something sometimes somewhere somewhat such too very quite rather pretty just
    only even ever never always often again also already almost still soon later lately now nowadays
    today tonight tomorrow yesterday maybe perhaps instead indeed otherwise moreover furthermore
    therefore thus hence meanwhile afterward afterwards next last first second third finally is are
    was were be been being am do does did done doing have has had having can could may might must
    shall should will would not no yes isn aren wasn weren don doesn didn haven hasn hadn won wouldn
    couldn shouldn mustn ain let lets get gets got gotta gonna wanna gimme lemme go goes went gone
    come comes came take takes took make makes made give gives gave keep keeps kept put see sees saw
    seen look looks say says said tell tells told ask asks asked think thinks thought know knows
    knew known want wants need needs try tries tried feel feels felt seem seems hope hopes wish
    guess bet mean means love loves likes hate hates use uses used find finds found call calls start
    starts stop stops show shows turn turns play plays run runs move moves live lives believe bring
    brings brought happen happens write writes wrote sit sits stand stands lose loses lost pay pays
    meet meets met include includes continue set sets learn learns learnt change changes lead leads
    understand understands understood watch watches follow follows create creates speak speaks read
    reads allow allows add adds spend spends grow grows open opens walk walks win wins offer offers
    remember remembers consider appear buy buys bought wait waits serve send sends sent expect build
    builds built stay stays fall falls cut reach reaches remain suggest raise pass sell sold require
    report decide pull check checks please enjoy enjoys imagine suppose forget excuse pardon welcome
    join joins catch listen hear hears heard click press push note notes noted hold fix fixed update
    updates remove removes delete deletes ensure verify avoid choose select hello hi hey hiya howdy
    greetings goodbye bye cheers thanks thank thx ty congrats congratulations kudos bravo sorry
    apologies correct oh ah aw aww eh er hm hmm huh mm mmm oof ooh ouch phew ugh uh um wow whoa woah
    woo woohoo yay yum yep yeah yea yup ya yo ok okay alright nah nope haha hehe hah lol lmao omg
    btw fyi imo imho idk tbh ttyl asap brb np pls plz gotcha dang darn geez gosh god golly jeez
    yikes oops whoops voila hooray hurray ahem amen amirite dear well sure right exactly absolutely
    definitely totally certainly surely truly really actually basically honestly seriously obviously
    clearly apparently hopefully luckily thankfully unfortunately sadly similarly good great nice
    cool awesome amazing fantastic wonderful lovely perfect beautiful excellent brilliant super
    incredible impressive interesting glad happy sad excited proud lucky crazy funny cute sweet fun
    true long lots tons plenty loads bit man dude guys buddy folks sir madam team speaking y'all
    c'mon recently together mostly mainly especially usually probably possibly occasionally
    eventually initially originally personally additionally suddenly simply slowly quickly
    previously fully highly regularly normally generally typically specifically consequently
    accordingly fortunately frankly ideally ultimately currently frequently rarely nearly gradually
    overall kinda sorta talk morning afternoon evening night merry best better worse worst less
    least enough own able due step todo nb ps re fw fwd cc bcc subject regards sincerely hugs xoxo
    """.split()
)
"""Words that are dropped from the beginning of a name, and that alone are never one."""

CALENDAR: Final = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays
    thursdays fridays saturdays sundays mon tue tues wed thu thur thurs fri sat sun january
    february march april may june july august september october november december jan feb mar
    apr jun jul aug sep sept oct nov dec christmas xmas easter thanksgiving halloween ramadan
    eid hanukkah diwali passover valentine valentine's spring summer autumn winter fall am pm
    utc gmt cet est pst
    """.split()
)
"""Days, months, seasons and holidays: times, not names."""

DEMONYMS: Final = frozenset(
    """
    african american americans arab arabic argentinian asian australian austrian belgian bengali
    brazilian british bulgarian canadian cantonese catalan caucasian chilean chinese colombian
    croatian cuban czech danish dutch egyptian english estonian ethiopian european filipino
    finnish flemish french gaelic georgian german germans greek hawaiian hebrew hindi hispanic
    hungarian icelandic indian indonesian iranian iraqi irish israeli italian italians jamaican
    japanese jewish kenyan korean latin latino latina lebanese lithuanian malay mandarin
    mediterranean mexican moroccan muslim nepalese nigerian norwegian pakistani persian peruvian
    polish portuguese punjabi romanian russian scandinavian scottish serbian slovak slovenian
    somali spanish swahili swedish swiss syrian tamil thai tibetan turkish ukrainian urdu
    venezuelan victorian vietnamese welsh yiddish buddhist catholic christian christians hindu
    protestant lgbt lgbtq lgbtq+ bipoc
    """.split()
)
"""Adjectives of origin and languages: alone they describe, inside a longer name they belong."""

KIN: Final = frozenset(
    """
    mom mum mama mommy mother dad daddy papa father grandma granny grandmother grandpa
    grandfather sis bro brother sister aunt auntie uncle cousin honey sweetie darling
    """.split()
)
"""Forms of address for relatives: they name a different person for each speaker."""

COMMON_ACRONYMS: Final = frozenset(
    """
    ai api apis app atm ceo cfo cpu cto cv css csv db diy dna dns dm dms dob dvd eta etc faq faqs
    ftp gif gpa gps gpu gui hdmi hq hr html http https id ids ip iq it json jwt kpi lcd led llm
    llms mba md mvp nda ngo npc ocd os ota otp pc pcs pdf phd pin png pov pr prs pt qa qr ram
    rest rip roi rom rpg rpgs rsvp sdk seo sla sms sql ssd ssh ssl tba tbd tcp tls tv tvs ui url
    urls usb utc ux vip vp vpn vr wifi wip xml yaml yml zip
    """.split()
)
"""Abbreviations of things in general."""

CURRENCIES_AND_UNITS: Final = frozenset(
    """
    aed ars aud bgn brl cad chf clp cny cop czk dkk egp eur gbp hkd huf idr ils inr jpy kes krw mxn
    myr ngn nok nzd pen pln ron rub sar sek sgd thb twd uah usd vnd zar kg km kmh mph kph mg ml mm
    cm lb lbs oz ft kb mb gb tb kwh mwh ghz mhz khz dpi fps rpm bpm kcal hrs mins secs q1 q2 q3 q4
    """.split()
)
"""What stands beside an amount, in capitals."""

_FORM_WORDS: Final = frozenset(
    """
    airline airport amount arrival attachment baggage basic birth cabin carrier carryon certificate
    checkout credit departure destination economy fare invoice itinerary layover luggage origin
    passenger premium quantity receipt recipient sender shipping subtotal summary terminal upgrade
    """.split()
)
"""What forms, tickets and orders head their fields with."""

COMMON: Final = _FORM_WORDS | frozenset(
    """
    account action address adoption adventure advice age agent air album algorithm anime animal
    answer apple apart area arm art article attack attempt attention authority autumn baby back
    bad bag balance ball bank bar base baseball basketball bath battery beach bean bear beauty
    bed beer bell bike bill bird birthday bit black blame blood blue board boat body bone book
    boss bottle bottom bowl box boy brain branch brave bread break breath brick bridge bright
    brown brush bug budget bus business busy butter button cake camera camp can cancer candle
    car card care career case cash cat cause celebration center central centre challenge chance
    charge charity cheap cheese chef chest chicken child childhood children choice church circle
    city class classic clean clear clock cloud club coach coast coat code coffee cold college
    color colour comfort common community company competition computer concert confidence
    consistency contact contemporary content context cook cookie copy corner cost country couple
    courage course court cover cozy craft creativity cross crowd culture cup customer cycle
    daily damage dance danger dark data date daughter day deadline deal death decision deep
    default degree delivery depth desert design desk dessert detail difference different
    difficult dinner direct dirty dish doctor dog domestic door double doubt draft drama dream
    dress drink drive driver drop drum dry duck dust duty ear early earth east easy edge editor
    effect effort egg email emotion empty end energy engine entire environment epic error essay
    estate event evidence example exam exams exercise expert express extra eye face fact fail
    fair family famous fan fantasy farm fashion fast fat favorite favourite fear feature
    feedback female festival fiction field fig figure file film final fine finger fire fish fit
    fitness flash flat flight floor flow flower fly focus food foot football force foreign
    forest form formal fox frame free freedom fresh friend friends front frost fruit full
    function future gallery game games gaming garage garden garlic gas gate general gentle gift
    ginger girl glass global goal gold golden good grand grass gray green greenhouse grey ground
    group guest guidance guide guitar gun guy habit hair half hall hand handy hard harmony
    harvest head health healthy heart heat heavy height help helpful hero high hike hill hint
    history hobby holiday home honest hook horror horse hospital host hot hotel hour house huge
    human humor hunger ice idea image impact important injury inspiration instagram insurance
    internet iron issue item jealous job journal journey joy judge juice jump junior kick
    kickboxing kid kids kind king kitchen knee knife ladder lady lake land language large late
    laughter law lawyer layer leader leaf league learning leather left leg lesson letter level
    library lie life light limit line lion list little local log logic lonely loose loss loud
    low luck lunch machine mail main male manager map marathon marble mark market marketing
    marriage master match mate material math meal meat media medical medicine meeting melody
    member memory men mental mentor menu mess message metal meter method mid middle milk mind
    minimum minor mint minute mirror miss mistake mix mobile modal mode model modern mom moment
    money monitor month mood moon motion mountain mouse mouth movie movies mud multi museum
    mushroom music musical name narrow nation natural nature neck negative neighbor neighbour
    network neutral new news noise normal north nose novel number nurse nut ocean odd office
    official oil old olive online option orange order organic original outdoor oven overall
    owner pace pack page pain paint pair palm pan panel panic pants paper parent parenting
    parents park part partner party pasta patch path patience pattern peace peak pen people
    pepper perseverance person personal pet pets phase phone photo photos photography piano
    picture pictures pie piece pilot pink pipe pizza place plan plane planet plant plants plate
    player plot plus pocket poem poet poetry point police policy pool poor pop popular
    population port position positive possible post pottery power practical practice pray
    present pressure price pride prime printer private prize pro problem process product
    professional profile program progress project proof proper protein public punk puppy purple
    purpose puzzle quality queen query question quick quiet quote rain random range rare rate
    raw real reality reason recent recipe record red refund regular relationship release relief
    repeat reply research resilience resource resources respect rest restaurant result return
    review rice rich ride ring rise risk river road rock role roof room root rose rough round
    route row royal rule rural rush safe safety salad salt sand sauce scale scene school science
    scout screen script sea season seat secret secure senior sense series serious server service
    session setback setbacks shade shape share sharp sheet shelter shift ship shirt shoe shop
    short shot shoulder show shower sick side sign silence silver simple single site size skill
    skin sky sleep slow small smart smell smile smooth snack snow social society soft software
    soil solid solo solution son song soul sound soup source south space spare special spicy
    spider spirit sport sports spot square staff stage standard standup star state station
    status steady steel stock stomach stone store stories storm story strange strategy street
    strength stress strict string strong student studio study stuff style success sudden sugar
    suit sun sunset support surface surfing surprise swim system table tail talent tall tank
    task taste tattoo tax tea teacher teaching team tech technology teen temple tennis tent term
    test text theatre theme themes theory thin thing things thoughts thread thriller throat
    ticket tight time times tiny tip tired tool top topic total touch tough tour tournament
    tournaments town toy track trade traffic trail train trainer travel treasure treat tree
    trick trip trips trouble truck trust truth tuna turtle turtles twin twist two type typical
    unique unit university unknown upper urban urgent use user users usual vacation valid value
    van vast vegan vegetable vehicle version video view village violin virtual visa vision visit
    visual vital voice volunteer vote walk wall war warm warning warrior waste water wave way
    weak weather web website wedding weddings week weekend weird west wheel white whole wide
    wife wild wind window wine wing winter wise woman women wonder wood word words work worker
    world worth wrong yard year yellow yoga young youth zero zone three four five six seven
    eight nine ten hundred thousand million friday
    """.split()
)
"""Ordinary words. Capitalised inside a sentence one may be a name; opening a sentence it is not."""

_ENDINGS: Final = (
    "tion", "tions", "sion", "sions", "ness", "ment", "ments", "ships", "ship", "ful",
    "less", "able", "ible", "ously", "edly", "ingly", "ed",
)  # fmt: skip
_NAMES_WITH_ENDINGS: Final = frozenset(
    {"beijing", "boeing", "fleming", "harding", "irving", "nanjing", "sterling", "wyoming"}
)


def is_ordinary(word: str) -> bool:
    """Whether a lower-case word is ordinary English: listed, the plural of one, or by ending."""
    if word in STARTERS or word in COMMON or word in CALENDAR or word in KIN:
        return True
    if word.endswith("ing"):
        return len(word) > 4 and word not in _NAMES_WITH_ENDINGS
    if len(word) > 5 and word.endswith(_ENDINGS):
        return True
    return word.endswith("s") and word[:-1] in COMMON
