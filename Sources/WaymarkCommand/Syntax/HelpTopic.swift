import Waymark

/// A page that explains something that is not one command.
struct HelpTopic {
  let name: String
  let text: String

  /// The text of a topic; nil if there is none of that name.
  static func named(_ name: String) -> String? { all.first { $0.name == name }?.text }

  static let all = [
    premium, sync, conflicts, trash, revoking, ids, fields, FormatsTopic.topic, exitCodes, home, keys,
    service, reasons,
  ]

  /// From the table itself.
  private static let reasons = HelpTopic(
    name: "reasons",
    text: "Reasons\nThe codes of status, peers, why, doctor and metrics, how grave each is, and what to do.\n"
      + Reason.ofStates.map(line).joined(separator: "\n"))

  private static func line(_ reason: Reason) -> String {
    let remedy =
      reason.next().map { "Next: \($0)" } ?? (reason.remedy == .time ? "It passes by itself." : "")
    return "\n  \(reason.rawValue)  \(reason.severity.rawValue)\n    \(reason.sentence())"
      + (remedy.isEmpty ? "" : "\n    \(remedy)")
  }

  private static let premium = HelpTopic(
    name: "premium",
    text: """
      Premium
      Everyone has the whole store on this device, and settings and the onboarding flag on all
      devices. With premium, trips, habits and the profile can sync too.

      Premium comes from an entitlement: a file signed by an issuer that your circle accepts.
        waymark entitlement install FILE     install one; a running node notices at once
        waymark entitlement show             whether it counts, and until when
        waymark sync on                      then turn sync of records on

      When premium ends, records stop syncing at that very second. Nothing is deleted: all of them
      stay on every device that has them, changes go on being noted, and catch up after a renewal.
      """)

  private static let sync = HelpTopic(
    name: "sync",
    text: """
      Sync
      Two lanes: settings sync always; records (trips, habits, profile) sync while this device has
      premium and you have turned sync on. It is off until you turn it on.
        waymark sync                         whether records sync, and if not, why
        waymark sync on --preview            what would come together, before anything is written
        waymark sync on | off                change your mind; nothing is deleted either way
        waymark wait --timeout 30s           until everything is equal on the connected devices
        waymark verify                       whether the devices really hold the same, record by record
        waymark mirror --from PEER           make the records here those of another device
        waymark assert                       make those of all others the ones of this device

      Where two devices changed the same field at the same time, the newer change shows and the
      other is kept: waymark conflicts. A delete wins over an edit; what was edited is kept too.
      """)

  private static let trash = HelpTopic(
    name: "trash",
    text: """
      The trash, and taking things back
      Nothing is lost. What is deleted is kept, and so is every value that was replaced.
        waymark trip list --deleted          what is in the trash, and who put it there
        waymark trip restore Rome            brings it back with all that belongs to it, and with what
                                             other devices changed or added meanwhile
        waymark history                      what was done, on all devices, newest first
        waymark history Rome                 everything that was written to one record
        waymark undo                         takes back the newest thing this device did
        waymark undo 3fa91c22                any other: a command, an import, somebody else's delete
        waymark undo 3fa91c22 --preview      what that would do

      What was changed since is left alone, unless you say --yes. Undoing an undo brings back what it
      took. All this is written as ordinary changes: it reaches the other devices like any other.
      """)

  private static let conflicts = HelpTopic(
    name: "conflicts",
    text: """
      Conflicts
      Two devices changed the same thing without knowing of each other. One change shows, the other
      is kept until you decide; the list is the same on every device.
        waymark conflicts                    what shows, and what is kept
        waymark conflicts show ID            all that both sides wrote
        waymark conflicts resolve ID --take winner      keep what shows
        waymark conflicts resolve ID --take loser       take the other
        waymark conflicts resolve ID --take phone       take what the phone wrote

      Editing the field settles it too. Where one device deleted what another was changing, winner
      deletes again and loser restores: the record, and what it belongs to if that is deleted as well.
      Both values stay in the history of the record.
      """)

  private static let revoking = HelpTopic(
    name: "revoking",
    text: """
      Revoking a device
      For a device that was lost, stolen or given away. On an admin device:
        waymark revoke phone                 says what it would do, and asks
        waymark members                      who is out, by whom, and who has not heard of it yet
      What the device wrote and is here stays. Everything else of it is refused, on every device from
      the moment that one hears of it; until then a device takes what it sends. Devices that it let in
      stay, and those that it revoked stay out; both are shown before, and can be decided otherwise:
        waymark revoke laptop --with-invited            and those that it let in, by now perhaps a thief's
        waymark revoke laptop --undo-revocations        and take in again those that it had revoked
      What a thief wrote before can be taken back like anything else: waymark history, waymark undo.

      A revoked device shows what it holds and changes nothing any more. It joins anew with a ticket
      (waymark invite), gets new keys and keeps its store.

      The root key is in keys/root.key of the device that founded the circle. Keep a copy where no thief
      of that device finds it, and take the file off the device. It helps when no admin is left, or when
      an admin is the thief; no admin can undo what it says:
        waymark revoke laptop --root-key FILE
        waymark invite --root-key FILE       lets a device in, from any device of the circle
        waymark join --root-key FILE         makes this device an admin; a revoked one gets new keys
      """)

  private static let ids = HelpTopic(
    name: "ids",
    text: """
      Ids and names
      Wherever a command wants an ID, any of these will do:
        the whole id                         0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60
        the beginning of the id              0196f0a2-7c31
        the name, or how it begins           Rome
      If more than one matches, the command lists them, changes nothing and ends with exit code 2.
      Devices are named the same way, by name or by the beginning of their id.
      """)

  private static let fields = HelpTopic(
    name: "fields",
    text: """
      Fields
      add and edit take FIELD=VALUE; an empty value clears. Quote what holds spaces.
        waymark trip add name=Rome startDate=2026-05-02 endDate=2026-05-06
        waymark lodging add trip=Rome name='Casa Rosa' start=2026-05-03T15:00 startTZ=Europe/Rome \\
            cost=120.50 currency=EUR
        waymark habit add name='Drink water' kind=numeric unitLabel=glasses dailyTarget=8

      Times are RFC 3339 (2026-05-03T15:00:00+02:00), or local with the zone field beside them. An
      unknown field or a bad value is refused with what is allowed, and nothing is written.
      waymark KIND show ID shows the fields that a record has; a wrong field name lists them all.
      """)

  private static let exitCodes = HelpTopic(
    name: "exit-codes",
    text: """
      Exit codes
         0  done
         1  failed; nothing was changed, unless the message says otherwise
         2  usage, or a name that could mean more than one thing
         3  the node is not running, and this needs it
         4  needs premium
         5  not in sync (wait, status --check)
         6  conflicts wait (status --check)
         7  refused without --yes: it would overwrite a file, or needs a decision
         9  carried out, but its output could not be written: don't run it again
        10  no store here
        11  the store is held by another process
        12  a key file is wrong or can't be read
       130  interrupted

      A file that a command writes is readable by this user only, except that of metrics --write,
      and replaces another only after a yes; directories, links and pipes are refused. After 9 the
      change is there: waymark history.
      """)

  private static let keys = HelpTopic(
    name: "keys",
    text: """
      Keys
      The folder that waymark paths names holds device.key, which is this device, and on the device that
      founded the circle root.key, which takes devices in again when no other is left. Keep a copy of both
      elsewhere. Only their owner may read them; a wrong owner or mode is refused, and so is a link.
        waymark keys passphrase set              seal them: whoever takes the disk can't use them
        waymark keys passphrase set --key FILE   a copy elsewhere, or an issuer's key
        waymark keys passphrase remove           as before

      Every command that needs a sealed key asks at the terminal. Where nobody is, as in a service:
        WAYMARK_PASSPHRASE_FILE=FILE waymark run     FILE: one line, readable by this user only
      A wrong passphrase ends with exit code 12. Opening takes about a second and 256 MiB. A forgotten
      passphrase can't be recovered: move device.key away and join the circle anew. The store itself is
      not encrypted: that is the disk's business.
      """)

  private static let service = HelpTopic(
    name: "service",
    text: """
      A node that always runs
      waymark run is a node in the foreground. To have the system run it for you:
        waymark service install              now, at every login, and again if it fails
        waymark service                      whether it runs, and what it says
        waymark service uninstall            no more; the store and the keys stay
      On Linux this is a user unit of systemd, on a Mac an agent of launchd; each --home has its own.
      --print systemd shows it without writing anything. As the system does it:
        systemctl --user status waymark      how it is; restart, stop and start as usual
        journalctl --user -u waymark         what it has said; -p warning for what matters
        loginctl enable-linger               have it run also while you are not logged in

      The service listens where waymark run does: config.json or the flag, see waymark help home. If
      the keys are sealed, it has nobody to ask for the passphrase, so name a file when installing:
        WAYMARK_PASSPHRASE_FILE=FILE waymark service install
      What it logs can be changed while it runs: waymark log level debug.
      """)

  private static let home = HelpTopic(
    name: "home",
    text: """
      Home
      Everything of a node lies in one directory: store, keys, settings. waymark paths lists it.
      It is, in this order: --home DIR, WAYMARK_HOME, the place where your system keeps data of
      applications. With different homes several nodes run side by side:
        waymark --home /tmp/a init --name a
        waymark --home /tmp/a run --listen 127.0.0.1:0

      config.json in it may settle what flags would: {"name": …, "listen": "ADDR:PORT", "peers": [ADDR:PORT…],
      "discovery": false}.
      A flag comes first, then WAYMARK_NAME, WAYMARK_LISTEN, WAYMARK_PEERS (commas between),
      WAYMARK_DISCOVERY (on or off), then the file.

      The keys in it are this device. Never run copies of one home on two machines: join the second
      one with waymark invite. store.db may be opened read-only with any SQLite tool.
      """)
}
