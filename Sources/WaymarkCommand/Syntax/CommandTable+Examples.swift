extension CommandSpec {
  /// A line that makes sense as it is typed; a test parses them all.
  var example: String? {
    if let arguments = exampleArguments { return "waymark \(name) \(arguments)".trimmingSuffix }
    if let kind = CommandTable.kinds.first(where: { $0.name == words[0] })?.name, words.count == 2,
      let line = CommandTable.kindExamples[kind]?[words[1]]
    {
      return "waymark \(name) \(line)".trimmingSuffix
    }
    return CommandTable.examples[name].map { "waymark \(name) \($0)".trimmingSuffix }
  }
}

extension String {
  fileprivate var trimmingSuffix: String { hasSuffix(" ") ? String(dropLast()) : self }
}

extension CommandTable {
  /// What follows the words of a command in its example.
  static let examples: [String: String] = [
    "init": "--name laptop",
    "invite": "--expires 1h",
    "join": "--name phone",
    "run": "--listen [::]:7433",
    "keys passphrase set": "",
    "keys passphrase remove": "",
    "status": "--watch",
    "wait": "--timeout 30s",
    "verify": "--deep",
    "peers list": "",
    "peers add": "192.168.1.20:7433",
    "peers pause": "phone",
    "peers resume": "phone",
    "sync status": "",
    "sync on": "--preview",
    "sync off": "",
    "sync now": "",
    "doctor": "--report report.json",
    "metrics": "--write /var/lib/prometheus/node-exporter/waymark.prom",
    "log level": "debug",
    "trip timeline": "Rome",
    "habit tick": "'Drink water' 2",
    "habit untick": "'Drink water'",
    "habit set": "'Drink water' 6 --date 2026-05-03",
    "profile show": "",
    "profile set": "name=Ada",
    "settings list": "",
    "settings get": "colorScheme",
    "settings set": "colorScheme dark",
    "settings unset": "colorScheme",
    "onboarding show": "",
    "onboarding complete": "",
    "onboarding reset": "--everywhere",
    "entitlement show": "",
    "entitlement install": "entitlement",
    "entitlement buy": "--mock --until 2027-12-31",
    "entitlement cancel": "--mock",
    "issuer init": "issuer",
    "issuer issue": "--key issuer --circle ID --until 2027-12-31 --output entitlement",
    "issuer trust": "issuer.pub",
    "import": "export.json --preview",
    "export": "--format ics --trip Rome --output rome.ics",
    "restore": "laptop.waymark --preview",
    "mirror": "--from laptop --preview",
    "assert": "--preview",
    "cleanup": "--preview",
    "restamp": "--preview",
    "service install": "",
    "service uninstall": "",
    "service status": "",
    "completions": "bash",
    "manual": "",
    "paths": "",
    "version": "",
    "help": "trip add",
  ]

  /// The same for the kinds of record, which all have the same commands.
  static let kindExamples: [String: [String: String]] = {
    let things = [
      "trip": ("Rome", "name=Rome startDate=2026-05-02 endDate=2026-05-06", "notes='Two bags'"),
      "lodging": (
        "'Casa Rosa'",
        "trip=Rome name='Casa Rosa' start=2026-05-03T15:00 startTZ=Europe/Rome", "cost=120.50 currency=EUR"
      ),
      "transportation": ("'Night train'", "trip=Rome name='Night train' type=train", "confirmation=X4T7"),
      "activity": ("Forum", "trip=Rome name=Forum start=2026-05-04T10:00 startTZ=Europe/Rome", "notes="),
      "organization": ("Trenitalia", "name=Trenitalia", "website=https://www.trenitalia.com"),
      "habit": (
        "'Drink water'", "name='Drink water' kind=numeric unitLabel=glasses dailyTarget=8", "dailyTarget=6"
      ),
      "category": ("Health", "name=Health", "name=Body"),
      "log": ("0196f0a2", "habit='Drink water' date=2026-05-03 value=2", "value=3"),
      "attachment": ("ticket.pdf", "lodging='Casa Rosa' file=ticket.pdf", "fileDescription='Seat 12'"),
    ]
    return things.mapValues { id, adding, change in
      [
        "list": "", "show": id, "add": adding, "edit": "\(id) \(change)", "delete": id, "restore": id,
      ]
    }
  }()
}
