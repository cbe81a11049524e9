import Console
import Waymark
import WaymarkCare

/// A help page about a subject instead of one command.
struct HelpTopic {
  let name: String
  /// The title on the first line, then what `Page.explain` shows.
  let text: String

  var title: String { String(text.prefix { $0 != "\n" }) }
  var body: String { String(text.drop { $0 != "\n" }.dropFirst()) }

  /// Returns the topic with a name; nil if there is none.
  static func named(_ name: String) -> HelpTopic? { all.first { $0.name == name } }

  static let all = [
    premium, sync, conflicts, trash, revoking, ids, fields, FormatsTopic.topic, JSONTopic.topic, exitCodes,
    home, keys,
    service, reasons,
  ]

  /// Generated from the reasons themselves.
  private static let reasons = HelpTopic(
    name: "reasons",
    text: "Reasons\nThe codes of status, peers, why, doctor and metrics, their severity, and what to do.\n"
      + Reason.ofStates.map(line).joined(separator: "\n"))

  private static func line(_ reason: Reason) -> String {
    let remedy =
      reason.next().map { "Next: \($0)" } ?? (reason.remedy == .time ? "It resolves itself." : "")
    return "\n  \(reason.rawValue)  \(reason.severity.rawValue)\n    \(reason.sentence())"
      + (remedy.isEmpty ? "" : "\n    \(remedy)")
  }

  private static let premium = HelpTopic(
    name: "premium",
    text: """
      Premium
      Without premium you have the whole store on this device, and settings and the onboarding flag sync to
      all devices. With premium, trips, habits and the profile can sync too.

      Your own premium

      If you run your own circle, it can issue premium to itself, on the device that founded it:
        waymark premium self                 issue a year to all devices of the circle
        waymark sync on --everywhere         turn sync on here, and ask each other device, once
        waymark premium                      show whether you have premium, and until when
      The device keeps the issuer's key in keys/issuer.key. While its node runs, it renews premium when less
      than 30 days are left; if the key is sealed, with the passphrase that the node was started with. To
      stop renewing, move keys/issuer.key away; to end it at once, use waymark entitlement remove.
      This is a setting of your own circle and no proof for anybody else: a circle that pins its own issuer
      makes its own premium. An app that sells premium pins the issuer of its shop instead.

      Premium from the App Store

      An app that embeds Waymark can sell premium in the App Store. All devices of the circle verify a purchase
      themselves. A device without the app installs it from a file, and config.json lists the products:
        waymark entitlement install FILE     a signed StoreKit transaction, or an entitlement
        {"purchases": {"apps": [{"bundle": "com.example.trips",
                                 "products": ["com.example.trips.yearly"], "groups": []}],
                       "sandbox": false, "familySharing": false}}
      A subscription is trusted for 35 days; then a device with the app has to show it again. Verifying needs
      a build with the trait AppStore (swift build --traits AppStore). For devices with other
      builds, an issuer turns a purchase into an entitlement: waymark issuer from-purchase FILE --key FILE

      Premium from an issuer

      An entitlement is a file signed by an issuer that your circle accepts.
        waymark entitlement install FILE     install it, also in a running node
        waymark issuer list                  list the issuers that this circle accepts
        waymark issuer trust FILE.pub        accept another one (needs the root key)
        waymark issuer untrust ISSUER        accept it no longer (needs the root key)
        waymark entitlement remove ID        remove one entitlement (root key or issuer's key)
      The last two apply to all devices and can't be undone: the circle never accepts the same issuer's key or
      the same entitlement again. Another key, or another entitlement, is accepted.
      An issuer, on any machine, makes entitlements for other circles:
        waymark issuer init issuer
        waymark issuer issue --key issuer --circle CIRCLE \\
            --until 2027-12-31 --output entitlement
      CIRCLE is the id that waymark status --json shows. A day means its end, in UTC.

      As soon as premium ends, records stop syncing. Nothing is deleted: every device keeps its records, you
      can still change them, and sync catches up after a renewal.
      """)

  private static let sync = HelpTopic(
    name: "sync",
    text: """
      Sync
      There are two lanes. Settings always sync. Records (trips, habits, profile) sync while this device has
      premium and sync is on. Sync is off until you turn it on.
        waymark sync                         show whether records sync, and if not, why
        waymark sync on --preview            show what would be merged; change nothing
        waymark sync on | off                turn it on or off; nothing is deleted
        waymark sync on --everywhere         also ask each other device, once
        waymark wait --timeout 30s           wait until connected devices are in sync
        waymark verify                       compare the data, record by record
        waymark sync --take PEER             take over a peer's records, on all devices (waymark mirror)
        waymark sync --push                  give all devices the records of this one (waymark assert)

      If two devices change the same field at the same time, the newer change is displayed and the other is
      kept: see waymark conflicts. A delete wins over an edit, but the edit is kept too.
      """)

  private static let trash = HelpTopic(
    name: "trash",
    text: """
      Trash and undo
      Nothing is lost: deleted records are kept, and so is every value that was replaced.
        waymark trash                        list the trash, and who deleted what
        waymark trip restore Rome            restore it with everything in it, including what other
                                             devices have changed or added since
        waymark history                      list all operations, newest first
        waymark history Rome                 list all changes to one record
        waymark undo                         undo the newest operation of this device
        waymark undo 3fa91c22                undo any other operation: a command, an import,
                                             or an operation of another device
        waymark undo 3fa91c22 --preview      show what that undo would change

      Without --yes, undo leaves a value alone if it has been changed again since the operation. An undo is an
      ordinary change: it syncs to the other devices, and can itself be undone.

      To remove values for good, erase them. That can't be undone; waymark help erase explains the limits.
        waymark erase Rome                   erase a trip and everything in it, on all devices
        waymark erase Rome --field notes     erase its notes, and the earlier values of the other fields
        waymark trash empty                  erase everything in the trash
      """)

  private static let conflicts = HelpTopic(
    name: "conflicts",
    text: """
      Conflicts
      A conflict arises when two devices change the same thing without knowing of each other's change. One
      change is displayed, and the other is kept until you decide. The list is the same on every device.
        waymark conflicts                    list the displayed and the kept values
        waymark conflicts show ID            show everything that each side wrote
        waymark conflicts resolve ID --take winner      keep the displayed value
        waymark conflicts resolve ID --take loser       take the other change
        waymark conflicts resolve ID --take phone       take the change made on phone

      Editing the field resolves the conflict too. If one device deleted a record that another was changing,
      --take winner deletes it again, and --take loser restores it, along with its parent if that was deleted
      too. Both values stay in the history of the record.
      """)

  private static let revoking = HelpTopic(
    name: "revoking",
    text: """
      Revoking a device
      Revoke a device that was lost, stolen or given away. On an admin device:
        waymark revoke phone                 show the consequences, and ask first
        waymark members                      show which devices were revoked, by whom, and
                                             which devices have not learned of it yet
      Changes from the revoked device that have already arrived here are kept. Every device rejects its other
      changes as soon as it learns of the revocation; until then it still accepts them. Devices that the
      revoked one invited stay members, and devices that it revoked stay revoked. The command lists both
      first, and you can choose otherwise:
        waymark revoke laptop --with-invited            also revoke the devices that it invited, and
                                                        withdraw the promotions that it signed
        waymark revoke laptop --undo-revocations        also re-admit the devices that it had revoked
        waymark revoke laptop --before-erase            drop its mass erase and what it wrote after it
        waymark revoke laptop --discard                 drop everything that it wrote, on all devices
      Changes that a thief made earlier can be reverted like any others: waymark history, waymark undo. An
      erase can't, but while waymark status shows mass_erase, --before-erase brings the records back.
      Changes that a thief made earlier can be reverted like any others: waymark history, waymark undo. If
      nothing that the device wrote is worth keeping, discard all of it, on all devices:
        waymark revoke phone --discard                  shows how many records that changes, and asks first

      A revoked device can still show its data, but can't change anything. To rejoin it needs a ticket
      (waymark invite); it then gets new keys and keeps its store.

      The root key is keys/root.key on the device that founded the circle. Keep a copy where a thief of that
      device would not find it, and delete the file from the device. You need it when no admin is left, or
      when a thief has an admin device. No admin can undo what the root key signs:
        waymark revoke laptop --root-key FILE
        waymark invite --root-key FILE       invite a device, from any member
        waymark join --root-key FILE         make this device an admin; a revoked one gets new keys
      """)

  private static let ids = HelpTopic(
    name: "ids",
    text: """
      Ids and names
      Wherever a command needs an ID, you can type any of these:
        the whole id                         0196F0A2-7C31-7B4C-9E0F-3A5D2C8B1E60
        its last digits, as lists show them  2C8B1E60
        the beginning of the id              0196f0a2-7c31
        the name, or a part of it            Rome
      A whole name comes first, then the beginning of a name, then any part of it; delete and erase accept no
      part from the middle. Lists show as many of the last digits as tell a record apart from all others; the
      first digits are the same for records that were created within one minute. Without a terminal, lists
      contain whole ids.

      If more than one record matches, the command lists them, changes nothing and exits with 2. Devices and
      operations are identified by name or by the beginning of their id.
      """)

  static let fields = HelpTopic(
    name: "fields",
    text: """
      Fields
      The commands add and edit take FIELD=VALUE; an empty value clears the field. Quote values that contain
      spaces.
        waymark trip add name=Rome startDate=2026-05-02 endDate=2026-05-06
        waymark lodging add trip=Rome name='Casa Rosa' cost=120.50 \\
            currency=EUR start=2026-05-03T15:00 startTZ=Europe/Rome
        waymark habit add name='Drink water' kind=numeric \\
            unitLabel=glasses dailyTarget=8

      Times are RFC 3339 (2026-05-03T15:00:00+02:00), or local times with the zone in the field next to them.
      A local time that clocks skip is refused; one that occurs twice means the first. If a field is unknown or
      a value is not valid, the error shows what is allowed, and nothing is changed.

      All fields with their types, values and defaults:
      \(FieldPages.topics.map { "  waymark help \($0.joined(separator: " "))" }.joined(separator: "\n"))
      """)

  private static let exitCodes = HelpTopic(
    name: "exit-codes",
    text: """
      Exit codes
         0  done
         1  failed; nothing was changed, unless the message says otherwise
         2  wrong usage, or a name that matches more than one thing
         3  the command needs a running node
         4  the command needs premium
         5  not in sync (wait, verify, status --check)
         6  there are conflicts (status --check)
         7  not confirmed: the command would overwrite a file, or needs a decision (--yes)
         8  nothing has that name or id
         9  carried out, but the output could not be written: don't run the command again
        10  there is no store in the home
        11  another process is using the store
        12  a key file is wrong or can't be read
       130  interrupted

      Files that a command writes are readable by this user only, except those of metrics --write. A command
      overwrites an existing file only after confirmation, and never a directory, a link or a pipe. With exit
      code 9 the change was made: see waymark history.
      """)

  private static let keys = HelpTopic(
    name: "keys",
    text: """
      Keys
      The keys folder (waymark paths) contains device.key, which identifies this device. On the device that
      founded the circle it also contains root.key, which can re-admit a device even when no other device is
      left, and issuer.key, if the circle issues premium to itself. Keep a copy of them elsewhere. Only their owner may have access to them: a key file with another
      owner or mode is refused, and so is a link.
        waymark keys passphrase set              seal the keys with a passphrase
        waymark keys passphrase set --key FILE   seal a copy, or the key of another issuer
        waymark keys passphrase remove           unseal them

      Every command that needs a sealed key asks for the passphrase at the terminal. Without a terminal, as in
      a service, name a file whose first line is the passphrase and that only this user can read:
        WAYMARK_PASSPHRASE_FILE=FILE waymark run
      With a wrong passphrase, commands exit with 12. Opening a sealed key takes about a second and 256 MiB of
      memory. A forgotten passphrase can't be recovered: move device.key away and join the circle again. The
      store itself is not encrypted; use disk encryption for that.
      """)

  private static let service = HelpTopic(
    name: "service",
    text: """
      Running the node as a service
      waymark run runs a node in the foreground. To have the system run it for you:
        waymark service install              start it now and at every login, and restart it if it
                                             fails
        waymark service                      show whether it is running, and its status
        waymark service uninstall            remove it; the store and keys are kept
      On Linux this is a systemd user unit, on a Mac a launchd agent. Each --home has its own service.
      service install --print systemd shows the unit without installing it. The Debian package has installed a
      unit already, which service install enables for you, except with another home or a passphrase. The system's own tools work too:
        systemctl --user status waymark      its status; likewise restart, stop, start
        journalctl --user -u waymark         its log; add -p warning to see only problems
        loginctl enable-linger               keep it running while you are logged out

      The service listens where waymark run does: see waymark help home. If the keys are sealed, the service
      can't ask for the passphrase, so name a file when you install it:
        WAYMARK_PASSPHRASE_FILE=FILE waymark service install
      To change what the node logs while it is running: waymark logging level debug.
      """)

  private static let home = HelpTopic(
    name: "home",
    text: """
      Home
      All files of a node are in one directory, its home: store, keys and settings. waymark paths lists them.
      The home is --home DIR if that is given, else WAYMARK_HOME, else the default directory for application
      data on your system. With different homes you can run several nodes side by side:
        waymark --home /tmp/a init --name a
        waymark --home /tmp/a run --listen 127.0.0.1:0

      The file config.json in the home can hold values instead of flags:
        {"name": …, "listen": "ADDR:PORT", "peers": […], "discovery": false,
         "followSync": true, "purchases": …}
      Flags take precedence, then WAYMARK_NAME, WAYMARK_LISTEN, WAYMARK_PEERS (separated by commas),
      WAYMARK_DISCOVERY and WAYMARK_FOLLOW_SYNC (on or off), then the file. waymark help premium explains
      purchases.

      With followSync, or waymark run --follow-sync, this device turns sync on without asking as soon as
      another one does so everywhere, unless you turned sync on or off here. If two sets of records meet,
      they merge.

      The keys in a home identify the device. Never run copies of one home on two machines: invite the second
      machine with waymark invite. Any SQLite tool can open store.db read-only.
      """)
}
