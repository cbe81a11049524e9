// Code that must not compile: each line fails with exactly the errors that the comments before it expect.

import Foundation
import WaymarkKinds

func ids(node: Node, habit: Habit, trip: Trip) async throws {
  _ = Lodging(name: "Casa Rosa", tripID: trip.id)
  // expected-error@+2 {{cannot convert value of type 'Habit.ID' (aka 'Identifier<Habit>') to expected argument type}}
  // expected-note@+1 {{('Habit' and 'Trip') are expected to be equal}}
  _ = Lodging(name: "Casa Rosa", tripID: habit.id)
}
