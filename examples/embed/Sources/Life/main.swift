// The life cycle of an app: a person starts on a phone, plans a trip, adds a laptop, buys premium, and edits records on
// both devices.
import Foundation
import WaymarkFiles
import WaymarkKinds

let folder = URL.temporaryDirectory.appending(path: "waymark-embed-\(UUID().uuidString)")
defer { try? FileManager.default.removeItem(at: folder) }

/// Ends the program unless a condition is true, and otherwise prints what was expected.
func expect(_ condition: Bool, _ what: String) {
  if !condition { fatalError("expectation failed: \(what)") }
  print("  \(what)")
}

/// Returns the first value of a watch that meets a condition. A real app would keep watching.
func shown<Value>(_ watch: Watch<Value>, _ isRight: (Value) -> Bool) async -> Value {
  for await value in watch where isRight(value) { return value }
  fatalError("the node was closed while it was watched")
}

// MARK: Onboarding
print("Anna opens the app on her phone.")
let phone = try await Node.open(Home(folder.appending(path: "phone")), name: "Anna's phone")
expect(try await phone.onboarding() == .newUser, "She is new here.")
try await phone.update(Profile.only) { profile in
  profile.name = "Anna"
  profile.homeZone = "Europe/Rome"
}
try await phone.set(.colorScheme, to: .dark)
try await phone.completeOnboarding()

// MARK: Editing and watching
print("She plans a trip.")
let trips = phone.watch(.overviews(of: Trip.all.sorted(by: \.startDate)))
var trip = Trip(name: "Rome", startDate: Date(timeIntervalSince1970: 1_809_000_000))
let hotel = Organization(name: "Casa Rosa")
var room = try Lodging(
  name: "Room with a view", tripID: trip.id, start: trip.startDate, zone: "Europe/Rome",
  cost: Money(exactly: "240.50", "EUR"))
room.organizationID = hotel.id
let train = Transportation(name: "Night train", tripID: trip.id, start: trip.startDate, type: .train)
(trip, _, _, _) = try await phone.save(trip, hotel, room, train)
let overview = await shown(trips) { $0.first?.itemCount == 2 }[0]
expect(overview.totals.first?.amount == Decimal(string: "240.50"), "The list shows Rome with its total.")
let timeline = try await phone.read(.timeline(of: trip.id))
expect(timeline.map(\.item.name) == ["Room with a view", "Night train"], "The timeline shows both items.")
let picker = try await phone.read(.organizations)
expect(picker.all.map(\.name) == ["None", "Casa Rosa"], "None is the first entry of the picker.")

print("She reads every evening.")
let habit = try await phone.save(Habit(name: "Read", emoji: "📖"))
for daysAgo in 0..<3 {
  try await phone.addEntry(to: habit.id, on: Day(.now, in: .current).advanced(by: -daysAgo))
}
let progress = try await phone.read(.progress(of: habit.id))
expect(progress?.currentStreak == 3, "Her streak is three days long.")

// MARK: A second device
print("She adds her laptop.")
try await phone.serve(listen: "127.0.0.1:0")
let invitation = try await phone.invite()
let laptopHome = Home(folder.appending(path: "laptop"))
_ = try await JoinOperation(home: laptopHome, ticket: invitation.ticket, name: "Anna's laptop").join()
let laptop = try await Node.open(laptopHome, name: "Anna's laptop")
try await laptop.serve(listen: "127.0.0.1:0")
_ = await shown(laptop.watch(.setting(.colorScheme))) { $0 == .dark }
expect(try await laptop.onboarding() == .newUser, "Settings sync; without premium she is still a new user.")
let paywall = try await laptop.syncState()
expect(paywall.step == .buyPremium, "The paywall says: \(paywall.sentence)")

// MARK: Purchase and sync
print("She buys premium and turns sync on.")
for node in [phone, laptop] {
  try await node.buyMockPremium(until: .now + 86_400)
  try await node.turnSyncOn(isConfirmed: true)
}
_ = await shown(laptop.watch(Trip.all)) { $0.map(\.name) == ["Rome"] }
let welcome = await shown(laptop.watch(.onboarding)) { $0 != .newUser }
guard case .returningUser(let known) = welcome else { fatalError("she is not a returning user") }
expect(known.profileName == "Anna" && known.tripCount == 1, "Her laptop welcomes her back.")
try await laptop.completeOnboarding()

// MARK: Conflict
print("She renames the trip on both devices while they are disconnected.")
guard let laptopKey = try await phone.peers().first?.device else { fatalError("the phone has no peer") }
try await phone.pause(laptopKey)
trip.name = "Roma"
trip = try await phone.save(trip)
let other = try await laptop.update(trip.id) { trip in
  trip.name = "Eternal City"
  trip.notes = "Pack light"
}
try await phone.resume(laptopKey)
let conflict = await shown(phone.watch(.conflicts)) { $0.count == 1 }[0]
let merged = try await phone.record(trip.id)!
expect(merged.notes == "Pack light", "The notes, which only one device changed, are merged.")
expect(conflict.field == "name" && conflict.losers.count == 1, "Both names are kept until she picks one.")
try await phone.resolve(conflict.id, taking: .loser)
_ = await shown(laptop.watch(.conflicts)) { $0.isEmpty }
let names = try await (phone.record(trip.id)!.name, laptop.record(trip.id)!.name)
expect(names.0 == names.1 && names.0 != merged.name, "The laptop shows what she decided on the phone.")

// MARK: Undo
print("She deletes the trip by mistake.")
if let operation = try await laptop.delete(other) {
  _ = await shown(phone.watch(Trip.all)) { $0.isEmpty }
  try await laptop.undo(operation)
}
let back = await shown(phone.watch(.timeline(of: trip.id))) { $0.count == 2 }
expect(back.count == 2, "Undo restores the trip, with its items, on both devices.")

// MARK: Export
let file = folder.appending(path: "trips.json")
_ = try await laptop.export(as: .travelingSnails, to: file)
expect(FileManager.default.fileExists(atPath: file.path), "Everything can be exported, even without premium.")
await laptop.close()
await phone.close()
print("The example is complete.")
